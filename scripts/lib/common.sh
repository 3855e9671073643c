# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What the scripts share: where things are, progress, packages, the content-keyed cache. Sourced by bash.

HZ_ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
HZ_CACHE=${HZ_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hz}
export HZ_ROOT HZ_CACHE
mkdir -p "$HZ_CACHE"

say() { printf '%s\n' "$*" >&2; }
die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# Packages of the list that aren't installed.
missing_packages() {
    local p
    for p in $(printf '%s\n' "$@" | sort -u); do
        case $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) in
        installed) ;;
        *) printf '%s\n' "$p" ;;
        esac
    done
}

# Install what is missing, and say it. Nothing missing: nothing is run, no root needed.
need_packages() {
    local missing ticker status=0
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    say "Installing Debian packages: ${missing[*]}"
    [ "$(id -u)" = 0 ] || die "needs root to install: apt-get install ${missing[*]}"
    tick $$ &
    ticker=$!
    { apt_get update && apt_get install -y --no-install-recommends "${missing[@]}"; } \
        >"$HZ_CACHE/apt.log" 2>&1 || status=$?
    kill "$ticker" 2>/dev/null || true
    wait "$ticker" 2>/dev/null || true
    say ""
    [ "$status" = 0 ] || {
        tail -n 20 "$HZ_CACHE/apt.log" >&2
        die "apt-get install failed, all of it in $HZ_CACHE/apt.log"
    }
}

# A dot every ten seconds while process $1 lives.
tick() {
    while sleep 10 && kill -0 "$1" 2>/dev/null; do
        printf . >&2
    done
}

# Another apt may be running: wait for it instead of failing.
apt_get() { DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 "$@"; }

# One key for the content of files (names relative to the repository), and of more words before "--".
content_key() {
    local words=()
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        words+=("$1")
        shift
    done
    shift || true
    {
        printf '%s\n' "${words[@]}"
        (cd "$HZ_ROOT" && find "$@" -type f ! -name '*.o' ! -name '*.ko' ! -name '*.mod*' ! -name '*.cmd' \
            ! -name 'Module.symvers' ! -name 'modules.order' -print0 | LC_ALL=C sort -z | xargs -0r sha256sum)
    } | sha256sum | cut -c1-16
}

# Debian's packages for building hz.
HZ_BUILD_PACKAGES=(build-essential pkg-config meson ninja-build libglib2.0-dev libjson-glib-dev libmnl-dev python3)
# For running guests on a shaped uplink.
HZ_RUN_PACKAGES=(iproute2 iperf3 procps)
# For the guests themselves: the module's headers, kernel and initramfs tools.
HZ_GUEST_PACKAGES=(linux-headers-cloud-amd64 cpio kmod xz-utils zstd lz4 iperf3)
export HZ_BUILD_PACKAGES HZ_RUN_PACKAGES HZ_GUEST_PACKAGES
