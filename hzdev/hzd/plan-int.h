/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd plan: its inside, shared by plan.c, plan-lines.c and plan-apply.c. */
#ifndef HZ_HZD_PLAN_INT_H
#define HZ_HZD_PLAN_INT_H

#include "plan.h"

struct HzPlan {
    HzHost *host;
    GPtrArray *lines;           /* HzPlanLine, owned, by VM's name and NIC */
    HzTimer *decide, *look;
    uint64_t decide_at;         /* the timer's, UINT64_MAX: not set */
    uint64_t decided_at;
    uint64_t epoch;             /* of the plan sent last */
    char *sent;                 /* … as text, to see whether another differs; NULL: none */
    gboolean outstanding;       /* its results aren't here yet */
    gboolean looked;            /* an actuator has told what is */
    JsonObject *world;          /* that was decided last */
    unsigned failures;          /* applies in a row in which a line failed */
    char *audited;              /* the plan written to the audit last */
};

/* plan-lines.c */
void hz_plan_lines_build(HzPlan *plan);
HzPlanLine *hz_plan_lines_find(const HzPlan *plan, const char *key);
void hz_plan_line_free(HzPlanLine *line);
void hz_plan_line_set_result(HzPlanLine *line, const char *result, const char *detail);
/* Does this line take part in the decision? */
gboolean hz_plan_line_counts(const HzPlanLine *line);
/* Fill what the tenant declared and the operator grants. */
void hz_plan_line_world(HzPlanLine *line);

/* plan.c: look at the interfaces again in a moment. */
void hz_plan_look_soon(HzPlan *plan);

/* It was tried and isn't so. */
gboolean hz_plan_line_undone(const HzPlanLine *line);

/* plan-apply.c: give the decision to the actuator, when it differs from what it has. */
void hz_plan_apply(HzPlan *plan);

#endif /* HZ_HZD_PLAN_INT_H */
