# SPDX-License-Identifier: GPL-2.0-or-later
"""The dissector check of generated scripts: many scripts in one capture, each on an interface of its own, which the
Wireshark plugin judges by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netblt_conformance.common.model import Role, address_text
from netblt_conformance.generated.script import Script
from netblt_conformance.judges.findings import Finding
from netblt_conformance.judges.second import position_options
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.links.base import IUT_ADDRESS
from netblt_conformance.packets.capture import Capture

if TYPE_CHECKING:
    from netblt_conformance.simlib import PcapngWriter

IUT = address_text(IUT_ADDRESS)
# What a network makes of the packets of a conforming tester: it delivers them in another order, closer together, long
# after they were sent, or damaged. Any other finding against the tester is a mistake of the generator.
NETWORK = frozenset(
    {"ORDER-01", "ORDER-02", "ORDER-03", "CTRL-06", "RATE-01", "RATE-03", "OPEN-05", "WIRE-04", "CTRL-12"}
)
# What the tester does on purpose, and the beginnings of the requirements that the plugin reports then. "tail": the
# first part of a queue is lost, which leaves no trace. The checksum of a damaged packet may be that of another reading
# by chance. The last ones: OPENs and RESPONSEs that no end may accept.
_DAMAGE = ("damaged", "zeroed", "header-damaged", "ack-damaged", "copy-damaged", "data-damaged", "data-zeroed")
EXCUSED = {
    "tail": ("CTRL-01", "CTRL-04"),
    "go-on": ("DATA-12",),
    **dict.fromkeys(_DAMAGE, ("CKSUM-",)),
    "zero": ("",),
    "loose": ("",),
    "large": ("",),
}
_SIDES = {True: "sender", False: "receiver"}  # of the implementation; the plugin needs to know where was captured


@dataclass(frozen=True, slots=True)
class Found:
    """One violation in one script."""

    number: int
    finding: Finding

    @property
    def by_implementation(self) -> bool:
        return self.finding.offender_address == IUT

    @property
    def kinds(self) -> frozenset[str]:
        """What failed (Failure.kinds)."""
        return frozenset({self.finding.requirement})

    @property
    def reason(self) -> str:
        return f"{self.finding.requirement}: {self.finding.text} (dissector)"

    def is_mistake_in(self, script: Script) -> bool:
        """Whether it is a mistake of the generator: neither the implementation nor the network explains it, and the
        tester does not do it on purpose in this script."""
        if self.by_implementation or self.finding.requirement in NETWORK:
            return False
        done = {one.name for one in (*script.opening, *script.moves)}
        return not any(self.finding.requirement.startswith(areas) for name, areas in EXCUSED.items() if name in done)


class Merged:
    """The captures of many scripts, in one file for each direction of the data."""

    def __init__(self) -> None:
        self._writers: dict[bool, PcapngWriter] = {}

    def add(self, number: int, script: Script, capture: Capture) -> None:
        from netblt_conformance.simlib import PcapngWriter  # compiled; --help needs nothing that is

        capture.add_to(self._writers.setdefault(script.role.sender, PcapngWriter()), str(number))

    def save(self, stem: Path) -> None:
        for sender, writer in self._writers.items():
            writer.save(stem.with_name(f"{stem.name}.{_SIDES[sender]}.pcapng"))


def violations(tshark: Tshark, stem: Path) -> Iterator[Found]:
    """Of the files that Merged.save() wrote, which are removed."""
    for sender, side in _SIDES.items():
        for path in sorted(stem.parent.glob(f"{stem.name}.*{side}.pcapng")):
            options = position_options(str(Role(active=False, sender=sender)))
            for finding in tshark.findings(path, *options, violations=True):
                yield Found(int(finding.interface), finding)
            path.unlink()


def violations_alone(tshark: Tshark, script: Script, path: Path) -> list[Found]:
    """Of the capture of one script, which is kept."""
    return [Found(0, one) for one in tshark.findings(path, *position_options(str(script.role)), violations=True)]
