/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What comes from a device that its tenant has taken over. The first byte: is
 * there a proper HELLO in front, and in which pieces does the rest come?
 *
 * Whatever it is, another VM's device is welcomed as if nothing had happened.
 */
#include "fuzz.h"
#include "host.h"

#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t pieces[] = { 65536, 1, 7, 100 };
    uint8_t how;
    HzHost *host;
    int fd;

    if (size < 1) {
        return 0;
    }
    how = data[0];
    data++;
    size--;
    host = fuzz_host_open();
    fd = how & 1 ? fuzz_host_device(false) : fuzz_host_connect("vm/A.sock");
    while (size) {
        size_t piece = pieces[how >> 1 & 3];

        piece = piece < size ? piece : size;
        fuzz_host_send(fd, data, piece);
        data += piece;
        size -= piece;
    }
    fuzz_host_serves();
    close(fd);
    fuzz_host_run();
    fuzz_host_close(host);
    return 0;
}
