# SPDX-License-Identifier: GPL-2.0-or-later
"""The command watch."""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from netblt_conformance import __version__
from netblt_conformance.check import page, report
from netblt_conformance.check.judge import Checked, conclude, exit_code
from netblt_conformance.common.destinations import output_file
from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.words import fit
from netblt_conformance.judges import standings
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.packets.captures import BrokenCaptureError
from netblt_conformance.watch.capture import BUFFER_MIB, FILTER, Dumpcap
from netblt_conformance.watch.judge import LiveJudge
from netblt_conformance.watch.session import Session, Voice, Watched


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text}: more than 0 is needed")
    return value


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text}: a whole number above 0 is needed")
    return int(text)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-i", dest="interface", action="append", required=True, metavar="IFACE", help="may be given several times"
    )
    parser.add_argument("--duration", type=_positive, default=math.inf, metavar="S", help="seconds (default: Ctrl-C)")
    parser.add_argument("--count", type=_count, default=0, metavar="N", help="ends after so many captured packets")
    parser.add_argument("--filter", default=FILTER, metavar="EXPR", help="capture filter (default: %(default)s)")
    parser.add_argument(
        "--buffer", type=_count, default=BUFFER_MIB, metavar="MIB", help="of the kernel, MiB (default: %(default)s)"
    )
    parser.add_argument("--write", type=output_file("--write"), metavar="FILE", help="keep the capture (pcapng)")
    parser.add_argument(
        "--html", type=output_file("--html"), metavar="FILE", help="at the end, a page that draws what happened"
    )
    parser.add_argument("--strict", action="store_true", help="a suspicion is a failure too (exit status 1)")
    parser.add_argument(
        "--json", action="store_true", help="JSON lines as it happens; the last is that of check --json"
    )
    volume = parser.add_mutually_exclusive_group()
    volume.add_argument("-v", "--verbose", action="store_true", help="at the end what held as well")
    volume.add_argument("-q", "--quiet", action="store_true", help="only violations and the verdict")


@contextlib.contextmanager
def _copy(path: Path | None) -> Iterator[IO[bytes] | None]:
    if path is None:
        yield None
        return
    try:
        file = path.open("wb")
    except OSError as error:
        raise JudgeError(f"--write {path}: {error.strerror}") from None
    with file:
        yield file


@contextlib.contextmanager
def _kept(options: argparse.Namespace) -> Iterator[Path | None]:
    """Where the capture is kept: a page draws from it, if it is not wanted elsewhere."""
    if options.html is None or options.write is not None:
        yield options.write
        return
    with tempfile.TemporaryDirectory(prefix="netblt-watch-") as folder:
        yield Path(folder) / "capture.pcapng"


@contextlib.contextmanager
def _until_stopped() -> Iterator[threading.Event]:
    """Ctrl-C and SIGTERM end the capture, not the verdict."""
    stopped = threading.Event()
    before = {n: signal.signal(n, lambda *_: stopped.set()) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def careful(interfaces: list[Watched]) -> list[str]:
    """What the capture itself leaves in doubt."""
    notes = []
    for one in interfaces:
        if one.dropped:
            notes.append(
                f"the capture on {one.name} dropped {one.dropped} packets and kept {one.packets}: their contents are "
                "not checked; the violations hold, because loss does not explain them"
            )
        elif one.dropped is None:
            notes.append(f"whether the capture on {one.name} dropped packets is not known")
    return notes


def _verdict(session: Session, name: str) -> Checked:
    judge = session.judge
    checked = Checked(name, notes=careful(session.interfaces))
    connections = judge.reports.connections(standings.settled(judge.findings), judge.reader.more)
    conclude(checked, [[connection] for connection in connections], judge.reader)
    checked.error = standings.limits(connections)
    if not checked.transfers:
        checked.error = "no NETBLT packet passed"
    return checked


def command_watch(options: argparse.Namespace) -> int:
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    voice = Voice(json_lines=options.json, quiet=options.quiet, colour=colour)
    name = ", ".join(options.interface)
    with (
        _kept(options) as kept,
        Tshark() as tshark,
        _copy(kept) as copy,
        _until_stopped() as stopped,
        contextlib.closing(LiveJudge(tshark, voice.finding)) as judge,
        Dumpcap(options.interface, options.filter, options.count, options.buffer) as dumpcap,
    ):
        session = Session(dumpcap, judge, voice, copy, options.duration, stopped)
        try:
            session.run()
        except BrokenCaptureError as error:
            raise JudgeError(f"dumpcap's output cannot be read: {error}") from None
        complaint = dumpcap.complaint()
        if complaint and not session.interfaces:
            rights = "ermission" in complaint
            hint = "; run as root, or as a member of dumpcap's group" if rights else ""
            raise JudgeError(f"dumpcap cannot capture on {name}: {complaint}{hint}")
        judge.finish()
        checked = _verdict(session, name)
        if complaint:
            checked.notes.append(f"dumpcap ended early: {complaint}")
        if copy is not None:
            copy.flush()
        return _conclude(session, checked, options, colour, kept)


def _conclude(session: Session, checked: Checked, options: argparse.Namespace, colour: bool, kept: Path | None) -> int:
    complete = not any(one.dropped for one in session.interfaces)
    status = exit_code(checked.results, strict=options.strict, complete=complete)
    if options.json:
        document = report.document([checked], status, strict=options.strict, kind="watch")
        document["complete"] = complete
        document["capture"] = {one.name: {"packets": one.packets, "dropped": one.dropped} for one in session.interfaces}
        sys.stdout.writelines(report.pieces(document, [checked], one_line=True))
        sys.stdout.flush()
    else:
        for one in session.interfaces:
            print(
                fit(f"{one.name}: {one.packets} packets captured, ")
                + f"{one.dropped if one.dropped is not None else '?'} dropped"
            )
        sys.stdout.write(report.text([checked], colour, verbose=options.verbose, quiet=options.quiet))
        sys.stdout.flush()
    if options.html is not None and kept is not None:
        header = {"suite": f"netblt-conformance {__version__}", "strict": options.strict, "complete": complete}
        header["exit_code"] = int(status)
        page.write(options.html, [checked], header, stored={checked.name: kept}, links=options.write is not None)
    if checked.error:
        print(fit(f"error: {checked.name}: {checked.error}"), file=sys.stderr)
    if not complete:
        print("error: the judgement is incomplete: the capture dropped packets; see --buffer", file=sys.stderr)
    return status
