# SPDX-License-Identifier: GPL-2.0-or-later
"""A veth pair in a network namespace of its own, `watch` at one end, packets put in at the other. Run by test_watch.py
under `unshare -n`, so that nothing remains:

    watch_lab.py replay|flood|transfer CAPTURE [options of watch]
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from netblt_conformance.common import paths
from netblt_conformance.packets import captures
from scapy.utils import RawPcapWriter

SENDING, WATCHED = "sending", "watched"
IPV4 = 0x0800
ETHERNET_LINK = 1
ETHERNET = bytes(12) + IPV4.to_bytes(2, "big")
COMMAND = [sys.executable, "-m", "netblt_conformance", "watch", "-i", WATCHED]
FLOOD_LOOPS = 300


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def frames(capture: Path) -> list[bytes]:
    """The frames of a capture that starts at the IPv4 header, as Ethernet frames."""
    return [ETHERNET + packet.data for packet in captures.read(capture)]


def as_pcap(found: list[bytes], path: Path) -> None:
    """What tcpreplay reads."""
    with RawPcapWriter(str(path), linktype=ETHERNET_LINK) as file:
        file.write_header(None)
        for one in found:
            file.write_packet(one, sec=0, usec=0)


def await_line(stream: Any, text: str) -> list[str]:
    """The lines up to the one that holds `text`."""
    lines = []
    while line := stream.readline():
        lines.append(line)
        if text in line:
            return lines
    raise SystemExit(f"watch ended before it said {text!r}: {lines}")


def await_capturing() -> None:
    """dumpcap's socket is bound: packets that pass earlier are not seen."""
    index = socket.if_nametoindex(WATCHED)
    while not any(int(line.split()[4]) == index for line in Path("/proc/net/packet").read_text().splitlines()[1:]):
        time.sleep(0.01)


def replay(watch: subprocess.Popen[str], capture: Path) -> dict[str, Any]:
    """The frames once, then nothing: a violation must be reported while the watch goes on, not at its end."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as link:
        link.bind((SENDING, IPV4))
        for frame in frames(capture):
            link.send(frame)
            time.sleep(0.0005)
    told = await_line(watch.stdout, '"violation"')
    return {"told": told[-1]}


def lost_on_the_way() -> int:
    """Frames that a busy kernel dropped before any capture could see them."""
    said = subprocess.run(["ip", "-s", "-j", "link", "show", WATCHED], capture_output=True, check=True)
    return int(json.loads(said.stdout)[0]["stats64"]["rx"]["dropped"])


def flood(watch: subprocess.Popen[str], capture: Path) -> dict[str, Any]:
    """The same frames over and over, as fast as the machine can."""
    del watch
    file = Path(os.environ["LAB_FOLDER"]) / "flood.pcap"
    as_pcap(frames(capture), file)
    done = subprocess.run(
        ["tcpreplay", "-q", "--topspeed", "--preload-pcap", f"--loop={FLOOD_LOOPS}", "-i", SENDING, str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    sent = frames(capture)
    return {
        "arrived": FLOOD_LOOPS * len(sent) - lost_on_the_way(),
        "mean_bytes": sum(map(len, sent)) / len(sent),
        "tcpreplay": done.returncode,
        "said": done.stderr[-300:],
    }


def main() -> None:
    way, capture, *options = sys.argv[1:]
    ip("link", "add", SENDING, "type", "veth", "peer", "name", WATCHED)
    for name in (SENDING, WATCHED):
        Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1", encoding="ascii")
        ip("link", "set", name, "up")
    watch = subprocess.Popen([*COMMAND, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        await_line(watch.stderr, "watching")
        await_capturing()
        row = {"replay": replay, "flood": flood}[way](watch, Path(capture))
        time.sleep(0.5)
        watch.send_signal(signal.SIGINT)
        output, errors = watch.communicate(timeout=240)
    finally:
        watch.kill()
    print(json.dumps({**row, "status": watch.returncode, "output": output, "errors": errors}))


if __name__ == "__main__":
    assert paths.root().is_dir()
    main()
