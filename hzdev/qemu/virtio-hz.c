/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-hz: the device as the guest sees it.
 *
 * Two virtqueues over one board. A request is popped, copied once, answered
 * by hz_board_request() and pushed in one step, so nothing is ever in flight
 * across a reset, a stop or a migration. The event queue is a bell: each
 * buffer gets the oldest entry that is newer than the bell's cursor, and while
 * there is no buffer the cursor stands still; nothing is queued.
 *
 * All of that happens in one guarded bottom half, a bounded amount at a time,
 * and only while the VM runs. Kicks, the link and the run state merely
 * schedule it. The device knows framing and limits, never what a field means.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/error-report.h"
#include "qemu/iov.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "hw/virtio/virtio-bus.h"
#include "virtio-hz.h"
#include "migration/qemu-file-types.h"
#include "migration/vmstate.h"
#include "trace/trace-hw_virtio.h"

#define VIRTIO_HZ_QUEUE_SIZE 64

/* Elements of one queue served in one pass of the bottom half. */
#define QUEUE_BUDGET 64

uint64_t virtio_hz_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_BOOTTIME, &ts);
    return ts.tv_sec * NANOSECONDS_PER_SECOND + ts.tv_nsec;
}

void virtio_hz_set_provider(VirtIOHZ *s, bool present)
{
    trace_virtio_hz_provider(present);
    hz_board_set_provider(s->board, present);
    s->config_dirty = true;
}

/* -- queues ------------------------------------------------------------- */

static bool virtio_hz_guest_ready(VirtIOHZ *s)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(s);

    return s->running && (vdev->status & VIRTIO_CONFIG_S_DRIVER_OK) &&
           virtio_vdev_has_feature(vdev, VIRTIO_F_VERSION_1) && !vdev->broken;
}

static void virtio_hz_malformed(VirtIOHZ *s, VirtQueue *vq,
                                VirtQueueElement *elem, const char *what)
{
    virtio_error(VIRTIO_DEVICE(s), "virtio-hz: %s: %zu bytes to read, "
                 "%zu to write", what,
                 iov_size(elem->out_sg, elem->out_num),
                 iov_size(elem->in_sg, elem->in_num));
    virtqueue_detach_element(vq, elem, 0);
    g_free(elem);
}

/* A frame too long to be copied whole is answered by its header alone. */
static int virtio_hz_refuse_long(VirtIOHZ *s)
{
    struct virtio_hz_response *rsp = (void *)s->response;
    struct hz_hdr h;

    hz_hdr_get(s->request, &h);
    memset(rsp, 0, sizeof(*rsp));
    rsp->hdr.len = cpu_to_le32(sizeof(*rsp));
    rsp->hdr.type = cpu_to_le16(h.type | VIRTIO_HZ_T_RESPONSE);
    rsp->hdr.cookie = cpu_to_le64(h.cookie);
    rsp->status = cpu_to_le32(VIRTIO_HZ_E_TOOBIG);
    rsp->disruption = cpu_to_le64(hz_board_disruption(s->board));
    rsp->version = cpu_to_le64(hz_board_version(s->board));
    return sizeof(*rsp);
}

/* Fill s->response for the request in s->request. Its length, or < 0. */
static int virtio_hz_answer(VirtIOHZ *s, size_t out, size_t cap)
{
    struct virtio_hz_response *rsp = (void *)s->response;
    uint32_t status;
    int len;

    if (out > sizeof(s->request)) {
        len = virtio_hz_refuse_long(s);
    } else {
        len = hz_board_request(s->board, s->request, out, s->response, cap,
                               virtio_hz_now());
    }
    if (len < 0) {
        return len;
    }
    status = le32_to_cpu(rsp->status);
    if (status != VIRTIO_HZ_OK) {
        s->refusals++;
    }
    trace_virtio_hz_request(le16_to_cpu(rsp->hdr.type), out, status);
    return len;
}

/* false when the chain was malformed: the device needs a reset now. */
static bool virtio_hz_serve(VirtIOHZ *s, VirtQueueElement *elem)
{
    size_t out = iov_size(elem->out_sg, elem->out_num);
    size_t in = iov_size(elem->in_sg, elem->in_num);
    int len;

    if (out < HZ_HDR_LEN || in < sizeof(struct virtio_hz_response)) {
        virtio_hz_malformed(s, s->request_vq, elem,
                            "request without room for header and response");
        return false;
    }
    iov_to_buf(elem->out_sg, elem->out_num, 0, s->request,
               MIN(out, sizeof(s->request)));
    len = virtio_hz_answer(s, out, MIN(in, sizeof(s->response)));
    if (len < 0) {
        virtio_hz_malformed(s, s->request_vq, elem, "request without a frame");
        return false;
    }
    iov_from_buf(elem->in_sg, elem->in_num, 0, s->response, len);
    virtqueue_push(s->request_vq, elem, len);
    g_free(elem);
    return true;
}

static bool virtio_hz_serve_requests(VirtIOHZ *s)
{
    int budget;

    for (budget = QUEUE_BUDGET; budget; budget--) {
        VirtQueueElement *elem = virtqueue_pop(s->request_vq, sizeof(*elem));

        if (!elem || !virtio_hz_serve(s, elem)) {
            break;
        }
    }
    if (budget < QUEUE_BUDGET) {
        virtio_notify(VIRTIO_DEVICE(s), s->request_vq);
    }
    return !budget;
}

/* false when no bell went out: nothing new, or the buffer can't hold one. */
static bool virtio_hz_ring_one(VirtIOHZ *s, VirtQueueElement *elem)
{
    struct virtio_hz_record *rec = (void *)s->record;
    size_t in = iov_size(elem->in_sg, elem->in_num);
    int len;

    if (elem->out_num || in < HZ_RECORD_HEAD) {
        virtio_hz_malformed(s, s->event_vq, elem,
                            "event buffer that holds no record");
        return false;
    }
    len = hz_board_next(s->board, &s->bell, s->record,
                        MIN(in, sizeof(s->record)), virtio_hz_now());
    if (len <= 0) {
        virtqueue_unpop(s->event_vq, elem, 0);
        g_free(elem);
        return false;
    }
    iov_from_buf(elem->in_sg, elem->in_num, 0, s->record, len);
    virtqueue_push(s->event_vq, elem, len);
    g_free(elem);
    s->bells++;
    trace_virtio_hz_bell(le16_to_cpu(rec->hdr.type),
                         le16_to_cpu(rec->hdr.flags),
                         le64_to_cpu(rec->version));
    return true;
}

static bool virtio_hz_ring(VirtIOHZ *s)
{
    int budget;

    for (budget = QUEUE_BUDGET; budget; budget--) {
        VirtQueueElement *elem;

        if (!hz_board_news(s->board, &s->bell)) {
            break;
        }
        elem = virtqueue_pop(s->event_vq, sizeof(*elem));
        if (!elem || !virtio_hz_ring_one(s, elem)) {
            break;
        }
    }
    if (budget < QUEUE_BUDGET) {
        virtio_notify(VIRTIO_DEVICE(s), s->event_vq);
    }
    return !budget;
}

static bool virtio_hz_serve_guest(VirtIOHZ *s)
{
    bool more;

    if (s->config_dirty) {
        s->config_dirty = false;
        virtio_notify_config(VIRTIO_DEVICE(s));
    }
    /* What is new first: a disruption is told before it is answered with. */
    more = virtio_hz_ring(s);
    more |= virtio_hz_serve_requests(s);
    more |= virtio_hz_ring(s);
    return more;
}

static void virtio_hz_work(void *opaque)
{
    VirtIOHZ *s = opaque;
    bool more = virtio_hz_link_input(s);

    if (virtio_hz_guest_ready(s)) {
        more |= virtio_hz_serve_guest(s);
    }
    more |= virtio_hz_link_output(s);
    if (more) {
        qemu_bh_schedule(s->bh);
    }
}

static void virtio_hz_kick(VirtIODevice *vdev, VirtQueue *vq)
{
    qemu_bh_schedule(VIRTIO_HZ(vdev)->bh);
}

/* -- virtio ------------------------------------------------------------- */

static void virtio_hz_get_config(VirtIODevice *vdev, uint8_t *config)
{
    VirtIOHZ *s = VIRTIO_HZ(vdev);
    bool present = s->link.state == VIRTIO_HZ_LINK_UP;
    struct virtio_hz_config c = {
        .magic = cpu_to_le32(VIRTIO_HZ_MAGIC),
        .version = cpu_to_le16(VIRTIO_HZ_VERSION),
        .version_min = cpu_to_le16(VIRTIO_HZ_VERSION_MIN),
        .max_declarations = cpu_to_le16(s->limits.declarations),
        .max_notices = cpu_to_le16(s->limits.notices),
        .max_doc = cpu_to_le16(s->limits.doc),
        .status = cpu_to_le16(present ? VIRTIO_HZ_S_PROVIDER : 0),
        .disruption = cpu_to_le64(hz_board_disruption(s->board)),
    };

    memcpy(c.generation, hz_board_generation(s->board), sizeof(c.generation));
    memcpy(config, &c, sizeof(c));
}

static uint64_t virtio_hz_get_features(VirtIODevice *vdev, uint64_t features,
                                       Error **errp)
{
    return features;            /* version 1 has no feature bits of its own */
}

static void virtio_hz_reset(VirtIODevice *vdev)
{
    VirtIOHZ *s = VIRTIO_HZ(vdev);

    hz_board_reset(s->board);
    memset(&s->bell, 0, sizeof(s->bell));
    s->config_dirty = false;
    trace_virtio_hz_reset(hz_board_version(s->board));
    qemu_bh_schedule(s->bh);
}

static bool virtio_hz_take_status(VirtIODevice *vdev, uint8_t status)
{
    const uint8_t needs_v1 = VIRTIO_CONFIG_S_FEATURES_OK |
                             VIRTIO_CONFIG_S_DRIVER_OK;

    if ((status & needs_v1) &&
        !virtio_vdev_has_feature(vdev, VIRTIO_F_VERSION_1)) {
        virtio_error(vdev, "virtio-hz: the driver must accept "
                     "VIRTIO_F_VERSION_1");
        return false;
    }
    if (status & VIRTIO_CONFIG_S_DRIVER_OK) {
        qemu_bh_schedule(VIRTIO_HZ(vdev)->bh);
    }
    return true;
}

#if HZ_SET_STATUS_REFUSES
static int virtio_hz_set_status(VirtIODevice *vdev, uint8_t status)
{
    return virtio_hz_take_status(vdev, status) ? 0 : -EINVAL;
}
#else
static void virtio_hz_set_status(VirtIODevice *vdev, uint8_t status)
{
    virtio_hz_take_status(vdev, status);
}
#endif

/* -- run state ---------------------------------------------------------- */

static void virtio_hz_vm_started(VirtIOHZ *s)
{
    uint64_t pause = VIRTIO_HZ_NS_UNKNOWN;

    if (s->stopped_at) {
        pause = virtio_hz_now() - s->stopped_at;
    }
    if (s->stopped_at || s->loaded) {
        hz_board_retell(s->board, pause);
    }
    s->stopped_at = 0;
    s->loaded = false;
    s->has_run = true;
    if (s->left) {
        /* It didn't go: another device may have said HELLO meanwhile. */
        s->left = false;
        virtio_hz_link_renew(s);
    }
    trace_virtio_hz_runstate(true, pause);
}

static void virtio_hz_vm_state(void *opaque, bool running, RunState state)
{
    VirtIOHZ *s = opaque;

    if (!running && (state == RUN_STATE_FINISH_MIGRATE ||
                     state == RUN_STATE_POSTMIGRATE)) {
        s->left = true;
    }
    if (running == s->running) {
        return;
    }
    s->running = running;
    if (running) {
        virtio_hz_vm_started(s);
    } else {
        s->stopped_at = virtio_hz_now();
        trace_virtio_hz_runstate(false, 0);
    }
    virtio_hz_link_runstate(s);
    qemu_bh_schedule(s->bh);
}

/* -- migration ---------------------------------------------------------- */

/*
 * The board travels as a length and that many bytes, into a buffer that was
 * there before the stream came. hz_board_load() judges the content.
 */
static int virtio_hz_get_board(QEMUFile *f, void *pv, size_t size,
                               const VMStateField *field)
{
    VirtIOHZ *s = pv;

    s->state_len = qemu_get_be32(f);
    if (s->state_len > HZ_BOARD_STATE_MAX) {
        error_report("virtio-hz: a board of %u bytes in the stream, at most %u",
                     s->state_len, HZ_BOARD_STATE_MAX);
        return -EINVAL;
    }
    if (qemu_get_buffer(f, s->state, s->state_len) != s->state_len) {
        error_report("virtio-hz: the stream ends in the board");
        return -EIO;
    }
    return 0;
}

static int virtio_hz_put_board(QEMUFile *f, void *pv, size_t size,
                               const VMStateField *field, JSONWriter *vmdesc)
{
    VirtIOHZ *s = pv;
    int len = hz_board_save(s->board, s->state, HZ_BOARD_STATE_MAX);

    if (len < 0) {
        error_report("virtio-hz: no memory to save the board");
        return -ENOMEM;
    }
    qemu_put_be32(f, len);
    qemu_put_buffer(f, s->state, len);
    trace_virtio_hz_save(len, hz_board_disruption(s->board));
    return 0;
}

static const VMStateInfo vmstate_info_hz_board = {
    .name = "hz-board",
    .get = virtio_hz_get_board,
    .put = virtio_hz_put_board,
};

static int virtio_hz_pre_save(void *opaque)
{
    VirtIOHZ *s = opaque;

    s->mig_limits[0] = s->limits.declarations;
    s->mig_limits[1] = s->limits.notices;
    s->mig_limits[2] = s->limits.doc;
    memcpy(s->mig_generation, hz_board_generation(s->board),
           sizeof(s->mig_generation));
    s->mig_config_generation = VIRTIO_DEVICE(s)->generation;
    /* A VM that was paused already isn't stopped again to migrate. */
    s->left |= runstate_check(RUN_STATE_FINISH_MIGRATE);
    return 0;
}

static bool virtio_hz_same_limits(const VirtIOHZ *s)
{
    const struct {
        const char *name;
        uint16_t here;
    } limit[] = {
        { "declarations", s->limits.declarations },
        { "notices", s->limits.notices },
        { "doc-size", s->limits.doc },
    };
    bool same = true;
    int i;

    for (i = 0; i < ARRAY_SIZE(limit); i++) {
        if (s->mig_limits[i] != limit[i].here) {
            error_report("virtio-hz: %s=%u in the stream, %u here",
                         limit[i].name, s->mig_limits[i], limit[i].here);
            same = false;
        }
    }
    return same;
}

static uint16_t virtio_hz_load_reason(const VirtIOHZ *s, bool new_generation)
{
    if (new_generation) {
        return s->keep_declarations ? VIRTIO_HZ_WHY_RESTORE
                                    : VIRTIO_HZ_WHY_CLONE;
    }
    return runstate_check(RUN_STATE_INMIGRATE) ? VIRTIO_HZ_WHY_MIGRATE
                                               : VIRTIO_HZ_WHY_RESTORE;
}

static int virtio_hz_post_load(void *opaque, int version_id)
{
    VirtIOHZ *s = opaque;
    bool given = !qemu_uuid_is_null(&s->generation);
    bool new_generation = given &&
        memcmp(s->generation.data, s->mig_generation, VIRTIO_HZ_UUID_LEN);
    struct hz_board_loaded how = {
        .generation = given ? s->generation.data : NULL,
        .keep = s->keep_declarations,
        .reason = virtio_hz_load_reason(s, new_generation),
    };
    const char *why = "?";

    if (!virtio_hz_same_limits(s)) {
        return -EINVAL;
    }
    if (hz_board_load(s->board, s->state, s->state_len, &how, &why) < 0) {
        error_report("virtio-hz: the board in the stream is refused: %s", why);
        return -EINVAL;
    }
    trace_virtio_hz_load(s->state_len, hz_board_disruption(s->board),
                         new_generation);
    /* A driver amid reading config must see that it changed. */
    VIRTIO_DEVICE(s)->generation = s->mig_config_generation + 1;
    s->config_dirty = true;
    s->has_run = false;
    s->left = false;
    s->loaded = true;
    s->stopped_at = 0;
    virtio_hz_link_renew(s);
    return 0;
}

static const VMStateDescription vmstate_virtio_hz_device = {
    .name = "virtio-hz-device",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = virtio_hz_pre_save,
    .post_load = virtio_hz_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT16_ARRAY(mig_limits, VirtIOHZ, 3),
        VMSTATE_UINT8_ARRAY(mig_generation, VirtIOHZ, VIRTIO_HZ_UUID_LEN),
        VMSTATE_UINT32(mig_config_generation, VirtIOHZ),
        {
            .name = "board",
            .info = &vmstate_info_hz_board,
            .flags = VMS_SINGLE,
        },
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_virtio_hz = {
    .name = "virtio-hz",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_VIRTIO_DEVICE,
        VMSTATE_END_OF_LIST()
    },
};

/* -- qdev --------------------------------------------------------------- */

static bool virtio_hz_check_limit(const char *name, unsigned value,
                                  unsigned min, unsigned max, Error **errp)
{
    if (value < min || value > max) {
        error_setg(errp, "virtio-hz: %s=%u is not in %u..%u", name, value,
                   min, max);
        return false;
    }
    return true;
}

/* Would this be a legacy device? virtio-pci has refused by itself by now. */
static bool virtio_hz_bus_is_legacy(VirtIOHZ *s)
{
    Object *proxy = OBJECT(qdev_get_parent_bus(DEVICE(s))->parent);

    return object_dynamic_cast(proxy, "virtio-mmio") &&
           object_property_get_bool(proxy, "force-legacy", NULL);
}

static bool virtio_hz_check(VirtIOHZ *s, Error **errp)
{
    bool ambiguous = false;

    object_resolve_path_type("", TYPE_VIRTIO_HZ, &ambiguous);
    if (ambiguous) {
        error_setg(errp, "virtio-hz: a VM has one such device at most");
        return false;
    }
    if (replay_mode != REPLAY_MODE_NONE) {
        error_setg(errp, "virtio-hz: record/replay can't replay a provider");
        return false;
    }
    if (virtio_hz_bus_is_legacy(s)) {
        error_setg(errp, "virtio-hz: needs a modern virtio-mmio, use "
                   "-global virtio-mmio.force-legacy=false");
        return false;
    }
    if (s->limits.doc % 4) {
        error_setg(errp, "virtio-hz: doc-size=%u is not a multiple of 4",
                   s->limits.doc);
        return false;
    }
    return virtio_hz_check_limit("declarations", s->limits.declarations, 1,
                                 VIRTIO_HZ_MAX_DECLARATIONS, errp) &&
           virtio_hz_check_limit("notices", s->limits.notices, 1,
                                 VIRTIO_HZ_MAX_NOTICES, errp) &&
           virtio_hz_check_limit("doc-size", s->limits.doc, 64,
                                 VIRTIO_HZ_MAX_DOC, errp);
}

static void virtio_hz_device_realize(DeviceState *dev, Error **errp)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(dev);
    VirtIOHZ *s = VIRTIO_HZ(dev);
    QemuUUID generation = s->generation;

    if (!virtio_hz_check(s, errp)) {
        return;
    }
    if (qemu_uuid_is_null(&generation)) {
        qemu_uuid_generate(&generation);
    }
    s->board = hz_board_new(&s->limits, generation.data);
    if (!s->board) {
        error_setg(errp, "virtio-hz: no memory for the board");
        return;
    }
    s->state = g_malloc(HZ_BOARD_STATE_MAX);
    s->running = runstate_is_running();
    s->has_run = s->running;

    virtio_init(vdev, VIRTIO_ID_HZ, sizeof(struct virtio_hz_config));
    s->request_vq = virtio_add_queue(vdev, VIRTIO_HZ_QUEUE_SIZE,
                                     virtio_hz_kick);
    s->event_vq = virtio_add_queue(vdev, VIRTIO_HZ_QUEUE_SIZE, virtio_hz_kick);
    s->bh = virtio_bh_new_guarded(dev, virtio_hz_work, s);
    s->vmstate = qemu_add_vm_change_state_handler(virtio_hz_vm_state, s);
    virtio_hz_link_open(s);
}

static void virtio_hz_device_unrealize(DeviceState *dev)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(dev);
    VirtIOHZ *s = VIRTIO_HZ(dev);

    virtio_hz_link_shut(s);
    qemu_del_vm_change_state_handler(s->vmstate);
    qemu_bh_delete(s->bh);
    virtio_delete_queue(s->event_vq);
    virtio_delete_queue(s->request_vq);
    virtio_cleanup(vdev);
    g_free(s->state);
    hz_board_free(s->board);
    s->board = NULL;
}

static void virtio_hz_get_counter(Object *obj, Visitor *v, const char *name,
                                  void *opaque, Error **errp)
{
    uint64_t *value = (void *)((uint8_t *)obj + GPOINTER_TO_SIZE(opaque));

    visit_type_uint64(v, name, value, errp);
}

static void virtio_hz_get_standing(Object *obj, Visitor *v, const char *name,
                                   void *opaque, Error **errp)
{
    unsigned (*count)(const struct hz_board *b) = opaque;
    VirtIOHZ *s = VIRTIO_HZ(obj);
    uint64_t value = s->board ? count(s->board) : 0;

    visit_type_uint64(v, name, &value, errp);
}

static void virtio_hz_add_counters(ObjectClass *klass)
{
    static const struct {
        const char *name;
        size_t offset;
    } counter[] = {
        { "bells", offsetof(VirtIOHZ, bells) },
        { "refusals", offsetof(VirtIOHZ, refusals) },
        { "link-sessions", offsetof(VirtIOHZ, link_sessions) },
    };
    int i;

    for (i = 0; i < ARRAY_SIZE(counter); i++) {
        object_class_property_add(klass, counter[i].name, "uint64",
                                  virtio_hz_get_counter, NULL, NULL,
                                  GSIZE_TO_POINTER(counter[i].offset));
    }
    object_class_property_add(klass, "standing-declarations", "uint64",
                              virtio_hz_get_standing, NULL, NULL,
                              hz_board_declarations);
    object_class_property_add(klass, "standing-notices", "uint64",
                              virtio_hz_get_standing, NULL, NULL,
                              hz_board_notices);
}

static HZProperty virtio_hz_properties[] = {
    DEFINE_PROP_CHR("chardev", VirtIOHZ, chr),
    DEFINE_PROP_UINT16("declarations", VirtIOHZ, limits.declarations,
                       VIRTIO_HZ_MAX_DECLARATIONS),
    DEFINE_PROP_UINT16("notices", VirtIOHZ, limits.notices,
                       VIRTIO_HZ_MAX_NOTICES),
    DEFINE_PROP_UINT16("doc-size", VirtIOHZ, limits.doc, VIRTIO_HZ_MAX_DOC),
    DEFINE_PROP_UUID_NODEFAULT("generation", VirtIOHZ, generation),
    DEFINE_PROP_BOOL("keep-declarations", VirtIOHZ, keep_declarations, true),
    HZ_PROPERTIES_END
};

static void virtio_hz_class_init(ObjectClass *klass, HZClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    VirtioDeviceClass *vdc = VIRTIO_DEVICE_CLASS(klass);

    device_class_set_props(dc, virtio_hz_properties);
    dc->desc = "Channel between tenant and provider";
    dc->vmsd = &vmstate_virtio_hz;
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
    vdc->realize = virtio_hz_device_realize;
    vdc->unrealize = virtio_hz_device_unrealize;
    vdc->get_config = virtio_hz_get_config;
    vdc->get_features = virtio_hz_get_features;
    vdc->reset = virtio_hz_reset;
    vdc->set_status = virtio_hz_set_status;
    vdc->vmsd = &vmstate_virtio_hz_device;
    virtio_hz_add_counters(klass);
}

static const TypeInfo virtio_hz_info = {
    .name = TYPE_VIRTIO_HZ,
    .parent = TYPE_VIRTIO_DEVICE,
    .instance_size = sizeof(VirtIOHZ),
    .class_init = virtio_hz_class_init,
};

static void virtio_hz_register_types(void)
{
    type_register_static(&virtio_hz_info);
}

type_init(virtio_hz_register_types)
