/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tenant's program: nothing but libhz.h and libhz.so, in strict C11. */
#include <libhz.h>

#include <stdio.h>

int main(void)
{
    struct hz *hz;
    struct hz_draft *d = hz_draft_new("nic/0");
    int r = hz_open(&hz, "/nonexistent/hz");

    printf("1..2\n");
    printf("%sok 1 opens nothing: %s\n", r < 0 ? "" : "not ", hz_strerror(r));
    r = hz_draft_set(d, "net-mim", "200Mbit");
    printf("%sok 2 %s\n", r < 0 ? "" : "not ", hz_draft_error(d));
    hz_draft_free(d);
    return 0;
}
