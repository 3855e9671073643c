# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Steps of scripts/check: each has a log, shows that it lives, and adds to the sum.

# Names asked for on the command line, set by the caller.
declare -a only
total_passed=0
total_failed=0
total_skipped=0
failed_steps=()
# The running step's process: what a trap of the caller ends.
export current=

# Was it asked for? Without names, everything is.
wanted() { [ ${#only[@]} = 0 ] || [[ " ${only[*]} " == *" $1 "* ]]; }

# step NAME TITLE COMMAND...: its last line "N passed, N failed, N skipped" counts; without one its exit status is one test.
# Never call it where errexit is off (if, ||): the command would run on after its errors. It says in $step_ok how it went.
export step_ok=yes
step() {
    local name=$1 title=$2 log start status=0 sum pid
    shift 2
    step_ok=yes
    wanted "$name" || return 0
    log=$LOGS/$name.log
    start=$SECONDS
    printf '%-44s ' "$title" >&2
    ( set -euo pipefail; "$@" ) >"$log" 2>&1 </dev/null &
    pid=$!
    current=$pid
    tick "$pid" &
    local ticker=$!
    wait "$pid" || status=$?
    current=
    kill "$ticker" 2>/dev/null || true
    wait "$ticker" 2>/dev/null || true
    sum=$(tail -n 1 "$log")
    if [[ ${sum#*: } =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
        local p=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]} s=${BASH_REMATCH[3]}
        # A runner that counts no failure and still fails has failed.
        if [ "$status" != 0 ] && [ "$f" = 0 ]; then
            f=1
        fi
    elif [ "$status" = 0 ]; then
        local p=1 f=0 s=0
    else
        local p=0 f=1 s=0
    fi
    total_passed=$((total_passed + p))
    total_failed=$((total_failed + f))
    total_skipped=$((total_skipped + s))
    if [ "$f" = 0 ]; then
        printf ' ok     %4d passed' "$p" >&2
    else
        step_ok=no
        printf ' FAILED %4d passed, %d failed' "$p" "$f" >&2
        failed_steps+=("$name")
    fi
    [ "$s" = 0 ] || printf ', %d skipped' "$s" >&2
    printf '  (%d s)\n' $((SECONDS - start)) >&2
    grep -E '^ *SKIP' "$log" | sed 's/^ */    /' >&2 || true
    if [ "$f" != 0 ]; then
        {
            if grep -E -m 15 '^ *(FAIL|not ok|error:)|ERROR|error:' "$log"; then
                echo ...
            fi
            tail -n 15 "$log"
        } | sed 's/^/    | /' >&2
        echo "    | all of it: $log" >&2
    fi
}

# A step that can't be run here: said with its reason.
skip_step() {
    local name=$1 title=$2 why=$3
    wanted "$name" || return 0
    total_skipped=$((total_skipped + 1))
    printf '%-44s  SKIP   %s\n' "$title" "$why" >&2
}

verdict() {
    if [ ${#failed_steps[@]} -gt 0 ]; then
        echo "Failed: ${failed_steps[*]} (logs in $LOGS)"
    else
        echo "All good (logs in $LOGS)"
    fi
    echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
    [ "$total_failed" = 0 ]
}
