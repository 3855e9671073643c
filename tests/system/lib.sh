# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# System tests in shell: counting and telling. A `run` sources this, calls `t NAME COMMAND...` and ends with `finish`.
#
# scripts/check gives every `run` these, absolute; run by hand they have the defaults here:
#   HZ_BUILD        hz's build folder (configured and built)
#   HZ_QEMU         the patched qemu-system-x86_64 (empty: not built)
#   HZ_GUEST_IMAGE  what scripts/guest-image wrote
HZ_TOP=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
HZ_BUILD=${HZ_BUILD:-$HZ_TOP/build}
export HZ_TOP HZ_BUILD

passed=0
failed=0
skipped=0

# One test: a function or command, in a subshell; its output is shown when it fails.
t() {
    local name=$1 out status was=$-
    shift
    # Not behind || or if: there a test would run on after its errors.
    set +e
    out=$( (set -eu; "$@") 2>&1)
    status=$?
    case $was in *e*) set -e ;; esac
    case $status in
    0) passed=$((passed + 1)); echo "ok   $name" ;;
    77) skipped=$((skipped + 1)); echo "SKIP $name: ${out##*$'\n'}" ;;
    *)
        failed=$((failed + 1))
        echo "FAIL $name (exit $status)"
        printf '%s\n' "$out" | sed 's/^/     /' ;;
    esac
}

# Inside a test: say why it can't be run here.
skip() {
    echo "$*"
    exit 77
}

finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
}
