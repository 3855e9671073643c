/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd verdicts: what the provider says beside each declared field. Told only when it changes. */
#ifndef HZ_HZD_VERDICTS_H
#define HZ_HZD_VERDICTS_H

#include "vm.h"

/* Judge every standing declaration of the VM anew and mark what differs from its column. */
void hz_verdicts_update(HzVm *vm);

#endif /* HZ_HZD_VERDICTS_H */
