/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands to hzd as its control sockets bring them, a line each. The first
 * byte says who asks, may it change things, has it negotiated, and whether VM A
 * has a device.
 *
 * Every line gets one answer, a return or an error, never both.
 */
#include "fuzz.h"
#include "host.h"
#include "hzd/commands.h"

#include <string.h>
#include <unistd.h>

#define LINES_MAX 64

static void on_reply(JsonObject *reply, gpointer answers)
{
    CHECK(json_object_has_member(reply, "return") != json_object_has_member(reply, "error"));
    (*(int *)answers)++;
    CHECK(*(int *)answers == 1);
    json_object_unref(reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int answers[LINES_MAX];
    HzCaller caller = { .who = (char *)"fuzz" };
    HzHost *host;
    int n = 0, device = -1;

    if (size < 1) {
        return 0;
    }
    caller.admin = data[0] & 1;
    caller.negotiated = data[0] & 2;
    memset(answers, 0, sizeof(answers));
    host = fuzz_host_open();
    if (data[0] & 4) {
        device = fuzz_host_device(true);
    }
    data++;
    size--;
    while (size && n < LINES_MAX) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t len = end ? (size_t)(end - data) : size;
        char *line = (char *)tight_copy(data, len);

        hz_commands_dispatch_line(host, &caller, line, len, on_reply, &answers[n++]);
        free(line);
        fuzz_host_run();
        data += len + !!end;
        size -= len + !!end;
    }
    if (device >= 0) {
        fuzz_host_send(device, NULL, 0);
        close(device);
    }
    fuzz_host_close(host);
    for (int i = 0; i < n; i++) {
        CHECK(answers[i] == 1);
    }
    return 0;
}
