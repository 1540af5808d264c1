# SPDX-License-Identifier: GPL-2.0-or-later
"""What the Wireshark plugin finds, read from the lines of JSON that it writes (-z netblt,findings and the reports as
lines): the same while packets pass and at the end of a capture of any size."""

from __future__ import annotations

import enum
import json
import re
import sys
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from netblt_conformance.common.errors import JudgeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO

_CHUNK_BYTES = 1 << 16
_FRAME = re.compile(r"\bframe (\d+)")
# Of one rule, verdict and offender in one connection so many findings are kept; more of them are counted.
ALIKE_MOST = 1000
# The plugin writes no line that is as long; a program that does is not tshark with the plugin.
LINE_BYTES_MOST = 64 << 20


class Conclusion(enum.StrEnum):
    """What the plugin concludes of a rule; of a finding one of the first two. The values are those of its reports."""

    VIOLATED = "violation"
    SUSPECTED = "suspected"
    HELD = "passed"
    NOT_OBSERVED = "not observable"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of the plugin."""

    frame: int  # from 1, as Wireshark counts
    interface: str
    stream: int | None
    requirement: str
    verdict: Conclusion  # VIOLATED or SUSPECTED
    offender: str  # "10.0.0.1 receiver"
    text: str = ""  # one sentence, without the requirement's ID
    time: float = 0.0  # seconds since 1970
    offending_frame: int = 0  # the packet that is wrong, when the finding is on a later one
    request_frame: int = 0
    evidence_frame: int = 0

    @property
    def offender_address(self) -> str:
        return self.offender.partition(" ")[0]

    @property
    def offender_role(self) -> str:
        return self.offender.partition(" ")[2]

    @property
    def guilty_frame(self) -> int:
        """The frame that breaks the rule; the finding's own frame may only complete the proof."""
        return self.offending_frame or self.frame

    @property
    def kind(self) -> Kind:
        return self.stream, self.requirement, self.verdict, self.offender

    def counted_from(self, first_frame: int) -> Finding:
        """The finding in a capture of its own that begins with this frame."""
        return self.renumbered(lambda frame: frame and frame - first_frame + 1)

    def renumbered(self, moved: Callable[[int], int]) -> Finding:
        """The finding in another file; its words name frames as well. `moved` leaves 0, which is none, as it is."""
        return replace(
            self,
            frame=moved(self.frame),
            text=_FRAME.sub(lambda match: f"frame {moved(int(match[1]))}", self.text),
            offending_frame=moved(self.offending_frame),
            request_frame=moved(self.request_frame),
            evidence_frame=moved(self.evidence_frame),
        )


# Findings with the same content: stream, requirement, verdict, offender.
Kind = tuple[int | None, str, Conclusion, str]


@dataclass(frozen=True, slots=True)
class Damaged:
    """A packet with a bad checksum."""

    frame: int
    interface: str
    source: str  # IP addresses: the ports may be what is damaged
    destination: str
    part: str  # HEADER_SUM or DATA_SUM: which checksum does not fit


HEADER_SUM, DATA_SUM = "header", "data"


class Rows(Protocol):
    """Takes the reports that follow the findings (standings.Reports)."""

    def begin(self, header: dict[str, Any]) -> None: ...

    def row(self, row: dict[str, Any]) -> None: ...


class FindingReader:
    """Takes what tshark writes in pieces, as they come; returns findings, keeps the damaged packets in `damaged`, and
    hands the rows of reports to `rows`. Findings of a kind beyond ALIKE_MOST are counted in `more`."""

    def __init__(self, rows: Rows | None = None) -> None:
        self._waiting = bytearray()  # no line ends in it
        self._rows = rows
        self._in_report = False
        self._seen: Counter[Kind] = Counter()
        self.more: Counter[Kind] = Counter()
        self.damaged: list[Damaged] = []

    def feed(self, data: bytes) -> list[Finding]:
        begin = len(self._waiting)
        self._waiting += data
        end = self._waiting.rfind(b"\n", begin)
        if end < 0:
            if len(self._waiting) > LINE_BYTES_MOST:
                raise JudgeError("tshark's output cannot be read: a line without end")
            return []
        lines = bytes(self._waiting[:end]).split(b"\n")
        del self._waiting[: end + 1]
        found = []
        for line in lines:
            finding = self._line(line) if line else None
            if finding is not None:
                found.append(finding)
        return found

    def end(self) -> None:
        """tshark has written all that it wanted to."""
        if self._waiting:
            raise JudgeError("tshark's output cannot be read: it ends inside a line")

    def _line(self, line: bytes) -> Finding | None:
        try:
            row = json.loads(line.decode("utf-8", "replace"))
            if not isinstance(row, dict):
                raise JudgeError("tshark's output cannot be read: a line that is no JSON object")
            if "requirement" in row:
                return self._finding(row)
            if "damaged" in row:
                self._damage(row)
            elif "report" in row:
                self._in_report = True
                if self._rows is not None:
                    self._rows.begin(row)
            elif self._in_report:
                if self._rows is not None:
                    self._rows.row(row)
            else:
                raise JudgeError("tshark's output cannot be read: a row of no report")
        except (ValueError, KeyError, TypeError) as error:
            raise JudgeError(f"tshark's output cannot be read: {error!r}") from None
        return None

    def _finding(self, row: dict[str, Any]) -> Finding | None:
        finding = Finding(
            int(row["frame"]),
            sys.intern(row["interface"]),
            int(row["stream"]),
            sys.intern(row["requirement"]),
            Conclusion(row["verdict"]),
            sys.intern(row["offender"]),
            str(row["text"]),
            float(row["time"]),
            int(row["offending_frame"]),
            int(row["request_frame"]),
            int(row["evidence_frame"]),
        )
        self._seen[finding.kind] += 1
        if self._seen[finding.kind] > ALIKE_MOST:
            self.more[finding.kind] += 1
            return None
        return finding

    def _damage(self, row: dict[str, Any]) -> None:
        texts = (sys.intern(row[key]) for key in ("interface", "source", "destination", "damaged"))
        self.damaged.append(Damaged(int(row["frame"]), *texts))


def read_findings(stream: IO[bytes], reader: FindingReader) -> Iterator[Finding]:
    """All findings until the stream ends."""
    while chunk := stream.read(_CHUNK_BYTES):
        yield from reader.feed(chunk)
