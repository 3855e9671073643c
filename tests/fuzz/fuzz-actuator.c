/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What comes to hzd from an actuator gone mad, or another program on its
 * socket. The first byte: is there a proper greeting in front? hzd lives.
 */
#include "fuzz.h"
#include "host.h"
#include "hzd/commands.h"

#include <string.h>
#include <unistd.h>

static const char greeting[] =
    "{\"HZ\":{\"actuator\":\"vnic\",\"protocol\":1,\"protocol-min\":1,\"package\":\"hz\"}}\n";

static void on_reply(JsonObject *reply, gpointer answered)
{
    CHECK(json_object_has_member(reply, "return"));
    *(bool *)answered = true;
    json_object_unref(reply);
}

/* The operator can still ask how it stands. */
static void asks(HzHost *host, const char *line)
{
    HzCaller caller = { .admin = TRUE, .negotiated = TRUE, .who = (char *)"fuzz" };
    bool answered = false;

    hz_commands_dispatch_line(host, &caller, line, strlen(line), on_reply, &answered);
    CHECK(answered);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    HzHost *host;
    int fd;

    if (size < 1) {
        return 0;
    }
    host = fuzz_host_open();
    fd = fuzz_host_connect("actuators.sock");
    if (data[0] & 1) {
        fuzz_host_send(fd, greeting, strlen(greeting));
    }
    fuzz_host_send(fd, data + 1, size - 1);
    asks(host, "{\"execute\":\"query-actuators\"}");
    asks(host, "{\"execute\":\"query-vm\",\"arguments\":{\"vm\":\"A\"}}");
    close(fd);
    fuzz_host_run();
    fuzz_host_close(host);
    return 0;
}
