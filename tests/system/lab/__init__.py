# SPDX-License-Identifier: GPL-2.0-or-later
"""A laboratory for system tests: hosts as network namespaces, real guests, hz's own processes."""
