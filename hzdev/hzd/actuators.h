/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd actuators: hzd's end of run-dir/actuators.sock.
 *
 * An actuator is a process of its own that connects, greets and is then told
 * what to do. One that answers nothing within a bound is hung: it is told
 * nothing more, counts as fallen back to observe, and everybody can see so.
 */
#ifndef HZ_HZD_ACTUATORS_H
#define HZ_HZD_ACTUATORS_H

#include "hzd.h"

typedef enum {
    HZ_ACTUATOR_ABSENT, HZ_ACTUATOR_GREETED, HZ_ACTUATOR_READY, HZ_ACTUATOR_HUNG,
    HZ_ACTUATOR_FAILING,
} HzActuatorHealth;

/* So long may an answer take (a variable for tests only). */
extern uint64_t hz_actuator_answer_ns;

HzActuators *hz_actuators_new(HzHost *host, GError **error);
void hz_actuators_free(HzActuators *actuators);

/*
 * --spawn: run the programs themselves as children. @unclean: some may still
 * be there from a killed hzd.
 */
void hz_actuators_spawn(HzHost *host, gboolean unclean);

HzActuatorHealth hz_actuator_health(const HzHost *host, const char *name);
/* It may still be on its way up, after hzd's start or its own: nothing is said about it yet. */
gboolean hz_actuator_starting(const HzHost *host, const char *name);
/* READY and its mode in force is enforce. */
gboolean hz_actuator_enforcing(const HzHost *host, const char *name);
/* The mode the operator wants it in (set-mode's, or the configuration's, within the host's) … */
HzMode hz_actuators_wanted(const HzHost *host, const char *name);
/* … and the one in force: OBSERVE at most while it's absent, hung or failing. */
HzMode hz_actuators_mode(const HzHost *host, const char *name);
gboolean hz_actuators_set_mode(HzHost *host, const char *name, HzMode mode);    /* FALSE: no such */
/* The mode it has confirmed; OFF when there's none. */
HzMode hz_actuators_told(const HzHost *host, const char *name);
/* The mode it should be in; modes changed (set-mode, reload, thaw): tell it. */
void hz_actuators_configure(HzHost *host);

/* vnic */
/* Answered by hz_plan_observed(), and by hz_plan_applied() or hz_plan_apply_failed(). */
void hz_actuators_observe(HzHost *host, JsonArray *keys);
void hz_actuators_apply(HzHost *host, uint64_t epoch, JsonArray *plan);
/*
 * Give things back: @keys, or NULL for all. @done is called once, also when
 * there is no actuator; when it hangs, as soon as that is known.
 */
typedef void (*HzForgetFunc)(HzHost *host, const GError *error, gpointer opaque);
void hz_actuators_forget(HzHost *host, JsonArray *keys, HzForgetFunc done, gpointer opaque);

/* The name of one that owes an answer, or NULL. */
const char *hz_actuator_waited_for(const HzHost *host);

JsonArray *hz_actuators_json(HzHost *host);

#endif /* HZ_HZD_ACTUATORS_H */
