/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "selftest.h"
const struct test_case life_cases[] = { { NULL, NULL } };
