/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd test kit: a whole hzd in this process, and peers for it.
 *
 * The device is core/board behind a socket, as QEMU's is; the monitor answers
 * as QEMU's would; the actuator keeps lines in memory. All run on the one main
 * loop: a test says what it waits for, never for how long.
 */
#ifndef HZ_TESTS_HZD_KIT_H
#define HZ_TESTS_HZD_KIT_H

#include <glib.h>
#include <json-glib/json-glib.h>

#include "core/board.h"
#include "core/vocabulary.h"
#include "hzd/actuators.h"
#include "hzd/admin.h"
#include "hzd/hzd.h"
#include "hzd/json-util.h"
#include "hzd/notices.h"
#include "hzd/plan.h"
#include "hzd/vm.h"
#include "json/channel.h"

/* Run the main loop until @condition; the test fails when a generous bound passes first. */
#define WAIT(condition)                                             \
    do {                                                            \
        kit_wait_begin(#condition, __FILE__, __LINE__);             \
        while (!(condition)) {                                      \
            g_main_context_iteration(NULL, TRUE);                   \
        }                                                           \
        kit_wait_end();                                             \
    } while (0)
void kit_wait_begin(const char *what, const char *file, int line);
void kit_wait_end(void);
/* Let the loop run dry of what is ready, @ms long: to see that something does not happen. */
void kit_spin(unsigned ms);

typedef struct {
    char *dir, *run, *config;
    HzHost *host;
} Kit;

/* Write DIR/hzd.conf: a [host] group with places in a fresh folder and @host's keys, then @rest. */
Kit *kit_new(const char *host_keys, const char *rest);
void kit_free(Kit *kit);
/* hzd comes and goes; what it left on disk stays. @kill: without a clean stop. */
void kit_start(Kit *kit);
void kit_stop(Kit *kit);
void kit_rewrite(Kit *kit, const char *host_keys, const char *rest);
char *kit_path(const Kit *kit, const char *name);
HzVm *kit_vm(const Kit *kit, const char *name);
/* Lines of the audit with this event. */
unsigned kit_audited(const Kit *kit, const char *event, const char *text);

/* -- a device ----------------------------------------------------------- */

typedef struct {
    struct hz_board *board;
    struct hz_cursor cursor;
    int fd;                     /* -1: not connected */
    guint source;
    uint8_t vm[16];
    uint16_t run_state;
    uint16_t version, version_min;      /* said in HELLO */
    gboolean welcomed, closed;          /* closed: hzd ended it */
    unsigned sets, verdicts, drops, refusals, sessions;
    gboolean deaf;              /* doesn't read */
    size_t in_len;
    uint8_t in[HZ_LINK_MAX_FRAME * 4];
} Device;

Device *device_new(void);
void device_free(Device *d);
/* Connect to the VM's socket; silent. */
void device_connect(Device *d, const Kit *kit, const char *vm);
void device_hello(Device *d);
void device_disconnect(Device *d);
void device_tell(Device *d);            /* what the board has news of */
void device_write(Device *d, const void *bytes, size_t len);
void device_runstate(Device *d, uint16_t run_state);

/* The guest's side. Each asserts success. */
void guest_declare(Device *d, const char *subject, ...);    /* field name, value text, …, NULL */
void guest_withdraw(Device *d, const char *subject);
void guest_reply(Device *d, const uint8_t id[16], uint16_t code, uint64_t arg);
/* What the guest reads now: FALSE when there's no such entry. */
gboolean guest_notice(Device *d, const uint8_t id[16], struct hz_notice *n);
gboolean guest_declaration(Device *d, const char *subject, struct hz_declaration *decl);
/* The verdict on a field, code 0xff when there's none yet. */
struct hz_verdict guest_verdict(Device *d, const char *subject, uint16_t field);
/* Any open notice of the kind; FALSE when there's none. */
gboolean guest_notice_of_kind(Device *d, uint16_t kind, struct hz_notice *n);

/* -- a monitor ---------------------------------------------------------- */

typedef struct {
    char *path;
    int fd;
    guint source;
    GPtrArray *channels;
    gboolean running;
    gboolean refuse_stop, refuse_cont;
    unsigned stops, conts, others;      /* others: commands that change anything else */
} Monitor;

Monitor *monitor_new(const Kit *kit, const char *name);
void monitor_free(Monitor *m);
void monitor_set_running(Monitor *m, gboolean running);     /* by another hand */

/* -- an actuator -------------------------------------------------------- */

typedef struct {
    HzChannel *channel;
    GHashTable *lines;          /* key -> JsonObject of the plan in force */
    char *mode;
    gboolean gone;              /* hzd closed it */
    gboolean hung;              /* answers nothing */
    gboolean absent;            /* interfaces aren't there */
    gboolean unshapeable;
    gboolean refuse;            /* applies fail as a whole */
    gboolean fail;              /* each line does */
    unsigned configures, observes, applies, forgets;
    unsigned lifted;            /* times an apply took a ceiling away */
} Vnic;

Vnic *vnic_new(const Kit *kit);
void vnic_free(Vnic *v);
uint64_t vnic_rate(const Vnic *v, const char *key);         /* 0: unshaped */
void vnic_changed(Vnic *v, const char *key, const char *action);
/* Lose hzd and find it again, lines kept, as a real one does. */
void vnic_reconnect(Vnic *v, const Kit *kit);

/* -- asking ------------------------------------------------------------- */

/* notify for one VM; returns the answer's object about it (owned). */
JsonObject *ask_notify(Kit *kit, const HzNotifySpec *spec, const char *vm, uint8_t id[16]);

#endif /* HZ_TESTS_HZD_KIT_H */
