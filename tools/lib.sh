# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What the tools share: where things are, and how they speak.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck disable=SC2034  # read by the tools that source this file
BUILD=$ROOT/build VENV=$ROOT/.venv

# What is tested or measured does not depend on earlier transfers (docs/netblt.md, remembered paths).
export NETBLT_NO_PATH_MEMORY=1
# Compiled Python modules are kept: else each of the hundreds of commands that tests start compiles its modules again,
# and each worker of pytest all tests.
unset PYTHONDONTWRITEBYTECODE

say() { printf '%s\n' "$*"; }
step() { printf '\n== %s\n' "$*"; }
die() { # die STATUS MESSAGE...
    local status=$1
    shift
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit "$status"
}

# Runs "$@" as root: directly, or through sudo when that asks for no password (or a terminal can be asked).
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
        sudo env DEBIAN_FRONTEND=noninteractive "$@"
    else
        return 126
    fi
}
