# SPDX-License-Identifier: BSD-2-Clause
"""All groups of rows, in the order in which they are measured and shown."""

from __future__ import annotations

from .files import FileGroup
from .groups import Group, PathGroup, Settings, SpeedGroup
from .lateness import LatenessGroup
from .memory import MemoryGroup
from .peers import Build
from .rows import PATHS, RAW_BOUNDS, RAW_YARDSTICK, UDP_BOUNDS, path_peers, raw_peers, udp_peers
from .whole import WholeGroup


def plan_groups(build: Build, settings: Settings) -> list[Group]:
    udp = SpeedGroup("UDP, veth with MTU 1500, one core each end", peers=udp_peers(), bounds=UDP_BOUNDS)
    udp.plan(build, settings)
    raw = SpeedGroup("Raw IP, the same line", peers=raw_peers(), bounds=RAW_BOUNDS, yardstick=RAW_YARDSTICK)
    raw.plan(build, settings)
    paths = PathGroup(
        "Bad paths: share of attainable in the second half (bytes on the line per byte delivered)",
        rows=PATHS,
        peers=path_peers(),
    )
    paths.plan(build, settings)
    whole = WholeGroup("Whole transfers: seconds until everything has arrived (times the least)")
    whole.plan(build, settings)
    files = FileGroup("A file of 3 GiB from tmpfs to tmpfs, one core each end")
    files.plan(build, settings)
    lateness = LatenessGroup("Start of a burst: how much later than planned")
    lateness.plan(build, settings)
    memory = MemoryGroup("Memory of the receiving endpoint")
    memory.plan(build, settings)
    return [udp, raw, files, paths, whole, lateness, memory]
