#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests your NETBLT implementation with netblt-conformance, in a CI job or by hand. docs/ci.md explains the variables.
# Usage: sh netblt-ci.sh [install | run | captures]...     without arguments: all of them, in this order
# Exit status: 0 all hold, 1 a new failure, 2 nothing could be judged.
set -eu

# What to change, here or in the environment. A wheel, or .deb files: URLs, files or folders.
: "${NETBLT_PACKAGES:=https://example.org/netblt/netblt_conformance-0.1.0-cp311-cp311-linux_x86_64.whl}"
: "${ADAPTER:=netblt-adapter.toml}" # how your implementation is started
: "${LINK:=}"                       # pipe, sim or wire; empty: what the adapter describes
: "${SELECT:=}"                     # cases; empty: all
: "${OPTIONS:=}"                    # more options of netblt-conformance run
: "${REPORT:=netblt-report}"        # the report goes there
: "${BASELINE:=.netblt-baseline}"   # the results with which this run is compared
: "${ACCEPT:=false}"                # true: failures do not fail this run, and it is the next baseline
: "${NETBLT_HOME:=.netblt-suite}"   # the installed suite; worth a cache
: "${DISSECTOR:=}"                  # yes or no: check captures with tshark and the plugin; empty: as installed
: "${PYTHON:=python3}"              # of the version for which the wheel was built

case $NETBLT_HOME in
/*) ;;
*) NETBLT_HOME=$PWD/$NETBLT_HOME ;;
esac

die() {
    echo "netblt-ci.sh: $1" >&2
    exit 2
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# The files of NETBLT_PACKAGES, in $NETBLT_HOME/packages. Of a folder: its wheels, or else its Debian packages.
fetch() {
    rm -rf "$NETBLT_HOME/packages"
    mkdir -p "$NETBLT_HOME/packages" || die "cannot write to $NETBLT_HOME; set NETBLT_HOME"
    for from in $NETBLT_PACKAGES; do
        case $from in
        http://* | https://*)
            curl --fail --silent --show-error --location --output "$NETBLT_HOME/packages/${from##*/}" "$from" ||
                die "cannot download $from; set NETBLT_PACKAGES"
            ;;
        *)
            { [ -f "$from" ] && cp "$from" "$NETBLT_HOME/packages"; } ||
                cp "$from"/*.whl "$NETBLT_HOME/packages" 2>/dev/null ||
                cp "$from"/*.deb "$NETBLT_HOME/packages" 2>/dev/null ||
                die "$from is no package, and has no wheel and no .deb file; set NETBLT_PACKAGES"
            ;;
        esac
    done
}

# What the suite in $NETBLT_HOME was installed from.
origin() {
    echo "$NETBLT_PACKAGES"
    for from in $NETBLT_PACKAGES; do
        if [ -e "$from" ]; then find "$from" -type f -exec cksum {} +; fi
    done
    "$PYTHON" --version 2>&1 || true
    echo "$NETBLT_HOME"
}

install() {
    installed=$(cat "$NETBLT_HOME/origin" 2>/dev/null || true)
    if [ "$installed" = "$(origin)" ]; then return; fi # it is in the cache
    fetch
    wheels=$(find "$NETBLT_HOME/packages" -name '*.whl')
    if [ -n "$wheels" ]; then
        "$PYTHON" -m venv "$NETBLT_HOME" ||
            die "$PYTHON cannot make an environment (Debian: apt-get install python3-venv)"
        # shellcheck disable=SC2086  # one word for each wheel
        "$NETBLT_HOME/bin/pip" install --quiet --disable-pip-version-check $wheels ||
            die "pip cannot install $wheels: is it for this version of Python ($("$PYTHON" --version))?"
        origin >"$NETBLT_HOME/origin"
    else
        rm -f "$NETBLT_HOME"/packages/*-dbgsym_*.deb # debugging symbols
        set -- "$NETBLT_HOME"/packages/*.deb
        [ "$DISSECTOR" != yes ] || set -- "$@" tshark
        as_root apt-get -qq update || die "apt-get cannot update its lists"
        as_root apt-get -qq install --yes --no-install-recommends "$@" ||
            die "apt-get cannot install the packages: are they for this release?"
    fi
}

# The installed suite: from the wheel, or the packages of the system.
conformance() {
    if [ -x "$NETBLT_HOME/bin/netblt-conformance" ]; then
        "$NETBLT_HOME/bin/netblt-conformance" "$@"
    elif command -v netblt-conformance >/dev/null; then
        netblt-conformance "$@"
    else
        die "netblt-conformance is not installed; run: sh netblt-ci.sh install"
    fi
}

with_dissector() {
    case $DISSECTOR in
    yes) return 0 ;;
    no) return 1 ;;
    "") dpkg-query -W wireshark-plugin-netblt tshark >/dev/null 2>&1 ;;
    *) die "DISSECTOR=$DISSECTOR: give yes or no" ;;
    esac
}

run() {
    set -- --adapter "$ADAPTER" --report "$REPORT" --quiet --summary "${GITHUB_STEP_SUMMARY:-$REPORT/summary.md}"
    [ -z "$LINK" ] || set -- "$@" --link "$LINK"
    [ -z "$SELECT" ] || set -- "$@" --select "$SELECT"
    [ -z "${GITHUB_ACTIONS-}" ] || set -- "$@" --annotations -
    [ ! -f "$BASELINE/results.jsonl" ] || set -- "$@" --baseline "$BASELINE"
    with_dissector || set -- "$@" --no-dissector
    status=0
    # shellcheck disable=SC2086  # one word for each option
    conformance run "$@" $OPTIONS || status=$?
    if [ "$status" = 1 ] && [ "$ACCEPT" = true ]; then status=0; fi
    if [ "$status" = 0 ]; then
        { mkdir -p "$BASELINE" && cp "$REPORT/results.jsonl" "$BASELINE/"; } || die "cannot write to $BASELINE"
    fi
    return "$status"
}

# Checks the captures of your own tests, in the folder captures/.
captures() {
    if [ -d captures ] && with_dissector; then
        mkdir -p "$REPORT"
        conformance check --junit "$REPORT/check.xml" captures
    fi
}

[ $# -gt 0 ] || set -- install run captures
result=0
for word; do
    case $word in
    install) install || result=$? ;;
    run) run || result=$? ;;
    captures) captures || result=$? ;;
    *) die "unknown word '$word'; usage: sh netblt-ci.sh [install | run | captures]..." ;;
    esac
done
exit "$result"
