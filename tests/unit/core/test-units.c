/* SPDX-License-Identifier: MIT */
/*
 * Units: what is typed, what is told back, and what is refused.
 */
#include "prng.h"
#include "tap.h"

#include "core/units.h"

#include <errno.h>
#include <locale.h>

struct typed {
    enum hz_unit unit;
    const char *text;
    int ret;
    uint64_t value;
};

static const struct typed typed[] = {
    { HZ_UNIT_NONE, "0", 0, 0 },
    { HZ_UNIT_NONE, "42", 0, 42 },
    { HZ_UNIT_NONE, "007", 0, 7 },
    { HZ_UNIT_NONE, "18446744073709551615", 0, UINT64_MAX },
    { HZ_UNIT_NONE, "18446744073709551616", -ERANGE, 0 },
    { HZ_UNIT_NONE, "1.0", 0, 1 },
    { HZ_UNIT_NONE, "1.5", -EDOM, 0 },
    { HZ_UNIT_NONE, "", -EINVAL, 0 },
    { HZ_UNIT_NONE, " 1", -EINVAL, 0 },
    { HZ_UNIT_NONE, "1 ", -EINVAL, 0 },
    { HZ_UNIT_NONE, "-1", -EINVAL, 0 },
    { HZ_UNIT_NONE, "+1", -EINVAL, 0 },
    { HZ_UNIT_NONE, "0x10", -EINVAL, 0 },
    { HZ_UNIT_NONE, "1e3", -EINVAL, 0 },
    { HZ_UNIT_NONE, "1.", -EINVAL, 0 },
    { HZ_UNIT_NONE, ".5", -EINVAL, 0 },
    { HZ_UNIT_NONE, "1.2.3", -EINVAL, 0 },
    { HZ_UNIT_NONE, "1,5", -EINVAL, 0 },
    { HZ_UNIT_NONE, "5k", -EINVAL, 0 },

    { HZ_UNIT_BYTES, "4096", 0, 4096 },
    { HZ_UNIT_BYTES, "64k", 0, 64000 },
    { HZ_UNIT_BYTES, "64K", 0, 64000 },
    { HZ_UNIT_BYTES, "64Ki", 0, 65536 },
    { HZ_UNIT_BYTES, "64KiB", 0, 65536 },
    { HZ_UNIT_BYTES, "1MiB", 0, 1048576 },
    { HZ_UNIT_BYTES, "1.5MiB", 0, 1572864 },
    { HZ_UNIT_BYTES, "1GB", 0, 1000000000 },
    { HZ_UNIT_BYTES, "16 TiB", 0, 1ULL << 44 },
    { HZ_UNIT_BYTES, "512B", 0, 512 },
    { HZ_UNIT_BYTES, "0.5B", -EDOM, 0 },
    { HZ_UNIT_BYTES, "16777216TiB", -ERANGE, 0 },
    { HZ_UNIT_BYTES, "1MBit", -EINVAL, 0 },
    { HZ_UNIT_BYTES, "1ms", -EINVAL, 0 },

    { HZ_UNIT_RATE, "12500000", 0, 12500000 },
    { HZ_UNIT_RATE, "200Mbit", 0, 25000000 },
    { HZ_UNIT_RATE, "200 mbit", 0, 25000000 },
    { HZ_UNIT_RATE, "200Mbit/s", 0, 25000000 },
    { HZ_UNIT_RATE, "25MB/s", 0, 25000000 },
    { HZ_UNIT_RATE, "1gbit", 0, 125000000 },
    { HZ_UNIT_RATE, "1.25Gbit", 0, 156250000 },
    { HZ_UNIT_RATE, "8bit", 0, 1 },
    { HZ_UNIT_RATE, "1KiB/s", 0, 1024 },
    { HZ_UNIT_RATE, "1Kibit", 0, 128 },
    { HZ_UNIT_RATE, "1bit", -EDOM, 0 },
    { HZ_UNIT_RATE, "0.001kbit", -EDOM, 0 },
    { HZ_UNIT_RATE, "99999999999Tbit", -ERANGE, 0 },
    { HZ_UNIT_RATE, "200M", -EINVAL, 0 },
    { HZ_UNIT_RATE, "200MB", -EINVAL, 0 },
    { HZ_UNIT_RATE, "200 Mbit per second", -EINVAL, 0 },

    { HZ_UNIT_MS, "250", 0, 250 },
    { HZ_UNIT_MS, "250ms", 0, 250 },
    { HZ_UNIT_MS, "0.25s", 0, 250 },
    { HZ_UNIT_MS, "90s", 0, 90000 },
    { HZ_UNIT_MS, "15m", 0, 900000 },
    { HZ_UNIT_MS, "15min", 0, 900000 },
    { HZ_UNIT_MS, "2h", 0, 7200000 },
    { HZ_UNIT_MS, "1d", 0, 86400000 },
    { HZ_UNIT_MS, "2000us", 0, 2 },
    { HZ_UNIT_MS, "1us", -EDOM, 0 },
    { HZ_UNIT_MS, "999us", -EDOM, 0 },
    { HZ_UNIT_MS, "5", 0, 5 },
    { HZ_UNIT_MS, "5 kB", -EINVAL, 0 },
    { HZ_UNIT_US, "1ms", 0, 1000 },
    { HZ_UNIT_US, "10us", 0, 10 },
    { HZ_UNIT_US, "10\xc2\xb5s", 0, 10 },
    { HZ_UNIT_US, "10ns", -EDOM, 0 },
    { HZ_UNIT_NS, "1.5us", 0, 1500 },
    { HZ_UNIT_NS, "10s", 0, 10000000000ULL },
    { HZ_UNIT_NS, "213503d", 0, 18446659200000000000ULL },
    { HZ_UNIT_NS, "213504d", -ERANGE, 0 },

    { HZ_UNIT_PERMILLE, "250", 0, 250 },
    { HZ_UNIT_PERMILLE, "25%", 0, 250 },
    { HZ_UNIT_PERMILLE, "2.5 %", 0, 25 },
    { HZ_UNIT_PERMILLE, "3permille", 0, 3 },
    { HZ_UNIT_PERMILLE, "1000ppm", 0, 1 },
    { HZ_UNIT_PERMILLE, "0.05%", -EDOM, 0 },
    { HZ_UNIT_PERMILLE, "33.33333333333333333333333%", -EDOM, 0 },
    { HZ_UNIT_PERMILLE, "25%%", -EINVAL, 0 },
    { HZ_UNIT_PPM, "0.05%", 0, 500 },
    { HZ_UNIT_PPM, "500", 0, 500 },
    { HZ_UNIT_PPM, "500ppm", 0, 500 },

    { (enum hz_unit)99, "1", -EINVAL, 0 },
};

struct told {
    enum hz_unit unit;
    uint64_t value;
    const char *text;
};

static const struct told told[] = {
    { HZ_UNIT_NONE, 7, "7" },
    { HZ_UNIT_BYTES, 0, "0B" },
    { HZ_UNIT_BYTES, 1500, "1500B" },
    { HZ_UNIT_BYTES, 4096, "4KiB" },
    { HZ_UNIT_BYTES, 65536, "64KiB" },
    { HZ_UNIT_BYTES, 128000, "128kB" },
    { HZ_UNIT_BYTES, 1ULL << 40, "1TiB" },
    { HZ_UNIT_RATE, 0, "0bit" },
    { HZ_UNIT_RATE, 25000000, "200Mbit" },
    { HZ_UNIT_RATE, 12345, "98.76kbit" },
    { HZ_UNIT_RATE, 1234567, "9876.536kbit" },
    { HZ_UNIT_RATE, 131250000, "1.05Gbit" },
    { HZ_UNIT_RATE, UINT64_MAX, "18446744073709551615B/s" },
    { HZ_UNIT_MS, 0, "0s" },
    { HZ_UNIT_MS, 250, "250ms" },
    { HZ_UNIT_MS, 1500, "1.5s" },
    { HZ_UNIT_MS, 90000, "90s" },
    { HZ_UNIT_MS, 900000, "15m" },
    { HZ_UNIT_MS, 7200000, "2h" },
    { HZ_UNIT_US, 10, "10us" },
    { HZ_UNIT_US, 1001, "1.001ms" },
    { HZ_UNIT_NS, 1, "1ns" },
    { HZ_UNIT_NS, 1234567, "1234.567us" },
    { HZ_UNIT_NS, UINT64_MAX, "18446744073709551.615us" },
    { HZ_UNIT_PERMILLE, 250, "25%" },
    { HZ_UNIT_PERMILLE, 25, "2.5%" },
    { HZ_UNIT_PERMILLE, 5, "5permille" },
    { HZ_UNIT_PPM, 12, "12ppm" },
    { HZ_UNIT_PPM, 12500, "1.25%" },
};

static void typing(void)
{
    for (size_t i = 0; i < sizeof(typed) / sizeof(typed[0]); i++) {
        uint64_t value = 0;
        int ret = hz_unit_parse(typed[i].unit, typed[i].text, &value);

        if (!ok(ret == typed[i].ret && (ret || value == typed[i].value), "'%s' as %s is %s",
                typed[i].text, hz_unit_name(typed[i].unit),
                !typed[i].ret ? "taken" : typed[i].ret == -EINVAL ? "no quantity" :
                typed[i].ret == -EDOM ? "too fine" : "no value")) {
            printf("# got %d, %llu\n", ret, (unsigned long long)value);
        }
    }
}

static void telling(void)
{
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
        char text[64];
        int n = hz_unit_format(told[i].unit, told[i].value, text, sizeof(text));

        is_str(text, told[i].text, "%llu %s is told as %s", (unsigned long long)told[i].value,
               hz_unit_name(told[i].unit), told[i].text);
        is(n, strlen(told[i].text), "and its length returned");
    }
}

/* A small buffer gets what fits, and the length that would have been needed. */
static void small_buffer(void)
{
    char text[8] = "xxxxxxx";

    is(hz_unit_format(HZ_UNIT_RATE, 25000000, text, 4), 7, "like snprintf: the whole length");
    is_str(text, "200", "and what fits");
    is(hz_unit_format(HZ_UNIT_RATE, 25000000, NULL, 0), 7, "even without a buffer");
}

static uint64_t any_value(struct prng *p)
{
    uint64_t v = prng_next(p) >> prng_below(p, 64);

    /* Round ones take other paths than random ones. */
    if (prng_chance(p, 40)) {
        v -= v % 1000;
    }
    return prng_chance(p, 20) ? v & ~1023ULL : v;
}

static void there_and_back(enum hz_unit unit, const char *name)
{
    struct prng p = { unit + 1 };
    bool good = true;

    for (int i = 0; i < 50000 && good; i++) {
        uint64_t v = any_value(&p), back = ~v;
        char text[64];
        int ret;

        hz_unit_format(unit, v, text, sizeof(text));
        ret = hz_unit_parse(unit, text, &back);
        good = !ret && back == v;
        if (!good) {
            printf("# %llu told as %s read as %d, %llu\n", (unsigned long long)v, text, ret,
                   (unsigned long long)back);
        }
    }
    ok(good, "50000 values of %s parse back from what is told", name);
}

int main(void)
{
    static const char *const names[] = {
        "", "bytes", "bytes/s", "ns", "us", "ms", "permille", "ppm"
    };

    for (unsigned unit = 0; unit < 8; unit++) {
        is_str(hz_unit_name((enum hz_unit)unit), names[unit], "the name of unit %u", unit);
        there_and_back((enum hz_unit)unit, unit ? names[unit] : "plain numbers");
    }
    is_str(hz_unit_name((enum hz_unit)99), "?", "a unit that isn't has no name");
    typing();
    telling();
    small_buffer();
    /* A locale with a decimal comma, where there is one, changes nothing. */
    if (setlocale(LC_ALL, "de_DE.UTF-8")) {
        telling();
        typing();
    }
    return tap_done();
}
