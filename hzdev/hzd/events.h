/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd events: what is told to watchers and written to the audit, in one place. */
#ifndef HZ_HZD_EVENTS_H
#define HZ_HZD_EVENTS_H

#include "vm.h"

/* VM_LINK: up, down, bye, running, paused, reset, standby, superseded, refused */
void hz_event_vm(HzVm *vm, const char *what);
/* A connection was refused: said and written at most once in ten seconds a VM and reason. */
void hz_event_refused(HzVm *vm, pid_t pid, uid_t uid, const char *why);
/* DECLARATION: declared, withdrawn. A flood is counted, not written. */
void hz_event_declaration(HzVm *vm, const HzDecl *decl, const char *what);
/* VERDICT: a column has changed. */
void hz_event_verdict(HzVm *vm, const HzDecl *decl);
/* NOTICE: @what: created, told, reply, state, act. @detail may be NULL. */
void hz_event_notice(HzNotice *notice, const char *what, const char *detail);
/* ACTUATOR: up, down, hung, answers, failing, changed */
void hz_event_actuator(HzHost *host, const char *name, const char *what, JsonObject *data);

#endif /* HZ_HZD_EVENTS_H */
