#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Remakes docs/decoded-packet.png: real Wireshark with the plugin, on a screen that nobody sees.
# Usage: dissector/profile/screenshot.sh [CAPTURE [FRAME [PNG]]]
# The plugin comes from build/plugins (or NETBLT_PLUGIN_DIR). Needs: wireshark xvfb openbox xdotool imagemagick.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
capture=${1:-$root/pcaps/violations/order02-progress-first.pcapng}
frame=${2:-}
png=${3:-$root/docs/decoded-packet.png}
plugins=${NETBLT_PLUGIN_DIR:-$root/build/plugins}
size=1280x1100

for tool in wireshark tshark Xvfb openbox xdotool import; do
    command -v "$tool" >/dev/null || {
        echo "screenshot: $tool is missing; install wireshark xvfb openbox xdotool imagemagick" >&2
        exit 2
    }
done
ls "$plugins"/*/epan/netblt.so >/dev/null 2>&1 || {
    echo "screenshot: $plugins holds no plugin; run tools/build" >&2
    exit 2
}

home=$(mktemp -d /tmp/netblt-screenshot-XXXXXX)
pids=()
finish() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$home"
}
trap finish EXIT

# Wireshark ignores plugins outside of the system's folder when root runs it.
as_user=()
[ "$(id -u)" != 0 ] || as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
cp -r "$plugins" "$home/plugins"
cp "$capture" "$home/capture.pcapng"
mkdir -p "$home/.config/wireshark"
cat >"$home/.config/wireshark/preferences" <<'PREFERENCES'
gui.update.enabled: FALSE
gui.geometry.save.position: FALSE
gui.geometry.save.size: FALSE
gui.layout_type: 2
gui.layout_content_3: NONE
gui.window_title: NETBLT
gui.qt.font_name: DejaVu Sans Mono,9
gui.column.format: "No.", "%m", "Time", "%t", "Source", "%s", "Destination", "%d", "Protocol", "%p", "Info", "%i"
PREFERENCES
printf 'gui.toolbar_main_show: FALSE\n' >"$home/.config/wireshark/recent"
[ "$(id -u)" != 0 ] || chown -R 65534:65534 "$home"
run() {
    "${as_user[@]}" env HOME="$home" XDG_RUNTIME_DIR="$home" WIRESHARK_PLUGIN_DIR="$home/plugins" QT_QPA_PLATFORM=xcb \
        DISPLAY="$display" "$@"
}

# A display number that nobody uses; Xvfb picks it.
Xvfb -displayfd 3 -screen 0 ${size}x24 -nolisten tcp 3>"$home/display" >/dev/null 2>&1 &
pids+=($!)
for _ in $(seq 50); do
    [ -s "$home/display" ] && break
    sleep 0.1
done
display=:$(cat "$home/display")

if [ -z "$frame" ]; then
    frame=$(run tshark -r "$home/capture.pcapng" -Y 'netblt.analysis.verdict == "violation"' -T fields -e frame.number 2>/dev/null | head -1)
fi
run openbox >/dev/null 2>&1 &
pids+=($!)
run wireshark -r "$home/capture.pcapng" -g "$frame" >/dev/null 2>&1 &
pids+=($!)
window=
for _ in $(seq 100); do
    window=$(run xdotool search --onlyvisible --name 'NETBLT|capture.pcapng' 2>/dev/null | head -1 || true)
    [ -n "$window" ] && break
    sleep 0.2
done
[ -n "$window" ] || {
    echo "screenshot: Wireshark did not open a window" >&2
    exit 1
}
sleep 3
run xdotool windowsize "$window" "${size%x*}" "${size#*x}" windowmove "$window" 0 0
sleep 1
# Into the tree, down to its last protocol, and open that one with all its branches.
run xdotool mousemove 900 $((${size#*x} - 30)) click 1
for _ in $(seq 12); do run xdotool key Down; done
sleep 0.3
run xdotool key shift+Right
sleep 0.5
run xdotool click --repeat 4 5 # the wheel: down to the findings
sleep 1
run import -window root "$home/shot.png"
run convert "$home/shot.png" -colors 128 -depth 8 "$home/small.png"
install -m 644 "$home/small.png" "$png"
echo "$png: frame $frame of $(basename "$capture"), $(stat -c %s "$png") bytes"
