# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Fresh roots of releases of Debian and Ubuntu, to build and test packages in. For tools that run as root; sourced after lib.sh.

# make_root SUITE FOLDER: the smallest root that has apt. What debootstrap mounts is in a namespace of its own, so that
# nothing stays mounted when it is interrupted.
make_root() {
    [ "$(id -u)" = 0 ] || die 2 "a root of $1 needs the rights of root (debootstrap, chroot)"
    say "making a root of $1"
    local options=(--variant=minbase) mirror=() keys=/usr/share/keyrings/ubuntu-archive-keyring.gpg
    if [ "$1" = noble ]; then # Ubuntu 24.04. The debootstrap of Debian 12 does not know its name.
        [ -n "${NETBLT_UBUNTU_MIRROR-}" ] || die 2 "set NETBLT_UBUNTU_MIRROR to the URL of a mirror of Ubuntu"
        [ -e "$keys" ] || die 2 "$keys is missing (package ubuntu-keyring): packages of Ubuntu could not be verified"
        mirror=("$NETBLT_UBUNTU_MIRROR" /usr/share/debootstrap/scripts/gutsy)
        options+=("--components=main,universe" --keyring="$keys")
    fi
    unshare --mount --pid --fork --kill-child \
        debootstrap "${options[@]}" "$1" "$2" "${mirror[@]}" >"$2.log" 2>&1 || {
        tail -5 "$2.log" >&2
        die 2 "debootstrap could not make a root of $1: $2.log"
    }
    rm "$2.log"
    [ "$1" != noble ] || echo "deb ${mirror[0]} noble-updates main universe" >>"$2/etc/apt/sources.list"
}

# in_root [--offline] FOLDER COMMAND...: runs a command there, in namespaces of its own: what it mounts and starts ends
# with it. --offline: the only interface is loopback.
in_root() {
    local network=()
    if [ "$1" = --offline ]; then
        network=(--net)
        shift
    fi
    # shellcheck disable=SC2016  # for the inner shell
    unshare --mount --pid --fork --kill-child "${network[@]}" bash -c '
        root=$1
        shift
        ip link set lo up
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive "$@"' in_root "$@" </dev/null
}

# install_in_root FOLDER LOG PACKAGE...
install_in_root() {
    local root=$1 log=$2
    shift 2
    # shellcheck disable=SC2016
    in_root "$root" sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"' sh "$@" >"$log" 2>&1 || {
        tail -5 "$log" >&2
        die 2 "could not install $*: $log"
    }
}
