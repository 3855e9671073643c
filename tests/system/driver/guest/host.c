/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "selftest.h"
const struct test_case host_cases[] = { { NULL, NULL } };
