/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz model: a copy of the board, as read so far. */
#ifndef HZ_MODEL_H
#define HZ_MODEL_H

#include "hz.h"

#define MODEL_MAX 64            /* more than any device holds */

struct model {
    struct hz_event *status;
    struct hz_event *declaration[MODEL_MAX];
    struct hz_event *notice[MODEL_MAX];
    unsigned declarations, notices;
};

/* Take one event in: it is the model's from here on. */
void model_take(struct model *m, struct hz_event *ev);
void model_free(struct model *m);

/* Read all the board has. 0 or a negative errno. */
int model_read(struct model *m, struct hz *hz);

const struct hz_ev_declaration *model_declaration(const struct model *m, const char *subject);

/* The notice whose id starts with the hexadecimal @id, dashes aside: NULL after complaining. */
const struct hz_ev_notice *model_notice(const struct model *m, const char *id);

#endif /* HZ_MODEL_H */
