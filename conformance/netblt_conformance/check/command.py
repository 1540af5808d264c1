# SPDX-License-Identifier: GPL-2.0-or-later
"""The command check. What pairs captures, draws pages and explains findings takes longer to import than most captures
take to check: it is imported where it is used."""

from __future__ import annotations

import argparse
import collections
import contextlib
import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import IO

from netblt_conformance.check import annotate, report
from netblt_conformance.check.folders import Listed, listed
from netblt_conformance.check.judge import BOTH_ENDS, POSITIONS, Checked, exit_code, judge
from netblt_conformance.common.destinations import output_file, output_file_or_stdout, output_folder
from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.words import fit
from netblt_conformance.judges.tshark import Tshark, opened
from netblt_conformance.report import files
from netblt_conformance.report.deliver import deliver
from netblt_conformance.report.progress import Progress

STANDARD_INPUT = "-"
PROGRESS_S = 0.2


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        nargs="*",
        metavar="FILE",
        help="pcap or pcapng, also compressed, or a folder of them; - is standard input",
    )
    parser.add_argument("--sender", type=Path, metavar="FILE", help="the capture made at the sender of the data")
    parser.add_argument("--receiver", type=Path, metavar="FILE", help="the capture of the same time at its receiver")
    parser.add_argument("--strict", action="store_true", help="a suspicion is a failure too (exit status 1)")
    parser.add_argument(
        "--captured-at",
        choices=(*POSITIONS, BOTH_ENDS),
        help="where the captures were made: at the sender or the receiver of the data, on the path between them, or, "
        "each with two interfaces, at both ends",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="follow each end beside the reference core instead, and show the first packet that no conforming "
        "implementation sends, with what was expected there (pcapng only)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document instead of the table")
    parser.add_argument("--junit", type=output_file_or_stdout("--junit"), metavar="FILE", help="JUnit XML also to FILE")
    parser.add_argument(
        "--html", type=output_file("--html"), metavar="FILE", help="a page that draws what happened also to FILE"
    )
    parser.add_argument(
        "--write",
        type=output_folder("--write"),
        metavar="DIR",
        help="copies of the captures there, with the findings as packet comments",
    )
    volume = parser.add_mutually_exclusive_group()
    volume.add_argument("-v", "--verbose", action="store_true", help="what held and what was not observable too")
    volume.add_argument("-q", "--quiet", action="store_true", help="only what did not hold, and the summary")


@contextlib.contextmanager
def _input(name: str) -> Iterator[tuple[IO[bytes], Path]]:
    """The capture, and where it lies; standard input as a copy, because it may have to be read twice."""
    if name != STANDARD_INPUT:
        with opened(Path(name)) as file:
            yield file, Path(name)
        return
    with tempfile.NamedTemporaryFile(prefix="netblt-check-") as copy:
        while chunk := sys.stdin.buffer.read(1 << 20):
            copy.write(chunk)
        copy.flush()
        with Path(copy.name).open("rb") as file:
            yield file, Path(copy.name)


def copies(names: Sequence[str]) -> list[str]:
    """What the copies of these captures are called: two that lie in different folders must not become one."""
    seen: collections.Counter[str] = collections.Counter()
    called = []
    for name in names:
        stem = "stdin" if name == STANDARD_INPUT else Path(name).name.split(".pcap")[0]
        seen[stem] += 1
        called.append(f"{stem}.checked.pcapng" if seen[stem] == 1 else f"{stem}-{seen[stem]}.checked.pcapng")
    return called


class _Reading:
    """How much of the captures tshark has read: it reads through the same open file, whose position moves."""

    def __init__(self, names: Sequence[str]) -> None:
        self.bytes = sum(Path(name).stat().st_size for name in names if Path(name).is_file())
        self._done = 0
        self._open: list[IO[bytes]] = []
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def of(self, file: IO[bytes]) -> Iterator[None]:
        with self._lock:
            self._open.append(file)
        try:
            yield
        finally:
            with self._lock:
                self._open.remove(file)
                self._done += os.fstat(file.fileno()).st_size

    def done(self) -> int:
        with self._lock:
            return self._done + sum(os.lseek(file.fileno(), 0, os.SEEK_CUR) for file in self._open)


def _check(tshark: Tshark, name: str, copy: str, options: argparse.Namespace, reading: _Reading) -> Checked:
    shown = "standard input" if name == STANDARD_INPUT else name
    try:
        with _input(name) as (file, path), reading.of(file):
            checked = _judge(tshark, file, path, shown, options.captured_at)
            if options.write is not None and checked.transfers:
                annotate.write(path, options.write / copy, checked)
            return checked
    except JudgeError as error:
        words = str(error).removeprefix(f"{shown}: ")
        return Checked(shown, error=words)


def _judge(tshark: Tshark, file: IO[bytes], path: Path, shown: str, position: str | None) -> Checked:
    if position == BOTH_ENDS:
        from netblt_conformance.check import ends

        with ends.of_one_file(path) as both:
            return judge(tshark, file, shown, ends=both)
    checked = judge(tshark, file, shown, position)
    checked.covered = frozenset({position} if position else ())
    if any(len(group) > 1 for group in checked.transfers):
        from netblt_conformance.check import ends

        checked.pairing = ends.paired(path)
    return checked


def _check_ends(tshark: Tshark, options: argparse.Namespace) -> Checked:
    """The captures of both ends as one."""
    from netblt_conformance.check import ends

    shown = f"{options.sender}, {options.receiver}"
    try:
        with ends.of_two_files(options.sender, options.receiver) as both, both.file.open("rb") as file:
            checked = judge(tshark, file, shown, ends=both)
            if options.write is not None:
                names = [str(options.sender), str(options.receiver)]
                for name, copy in zip(names, copies(names), strict=True):
                    own = [connection for connection in checked.connections if connection.file == name]
                    annotate.write(Path(name), options.write / copy, Checked(name, [own]))
            return checked
    except JudgeError as error:
        return Checked(shown, error=str(error))


def _complain_of_options(options: argparse.Namespace) -> None:
    if (options.sender is None) != (options.receiver is None):
        given, missing = ("--sender", "--receiver") if options.sender is not None else ("--receiver", "--sender")
        raise JudgeError(f"{given} needs {missing}: the captures of both ends are compared")
    if options.sender is not None and (options.file or options.captured_at):
        raise JudgeError(
            "--sender and --receiver name the captures and where they were made; leave out FILE and --captured-at"
        )
    if options.explain and (options.sender is not None or options.captured_at == BOTH_ENDS):
        raise JudgeError("--explain follows one capture at a time; name FILE, with --captured-at sender or receiver")
    if options.sender is None and not options.file:
        raise JudgeError("name a capture, or the captures of both ends with --sender and --receiver")


def _check_all(tshark: Tshark, names: list[str], options: argparse.Namespace) -> list[Checked]:
    """One tshark for each file, as many at once as there are processors; in the order in which they were named."""
    one_by_one = names.count(STANDARD_INPUT) > 1  # the first reads it to its end
    progress, reading = Progress(wanted=not options.quiet), _Reading(names)
    with ThreadPoolExecutor(1 if one_by_one else os.cpu_count() or 2) as pool:
        try:
            order = [
                pool.submit(_check, tshark, name, copy, options, reading)
                for name, copy in zip(names, copies(names), strict=True)
            ]
            waiting = set(order)
            while waiting:
                _, waiting = wait(waiting, PROGRESS_S)
                finished = f"{len(order) - len(waiting)} of {len(order)} captures"
                progress.show("KB read", min(reading.done(), reading.bytes) // 1000, reading.bytes // 1000, finished)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
        finally:
            progress.clear()
    return [future.result() for future in order]


def _sorted_out(checked: list[Checked], where: Listed) -> list[Checked]:
    """Without the captures of a folder that hold nothing to be judged: those are skipped by name."""
    kept = []
    for file in checked:
        if file.foreign and file.name in where.found:
            where.skipped.append((file.name, file.error))
        else:
            kept.append(file)
    for folder in where.empty:
        kept.append(Checked(folder, error="holds no capture"))
    if not kept:
        kept = [Checked(name, error="holds no capture that can be judged") for name in where.folders]
    return kept


def _captured_at(options: argparse.Namespace) -> str | None:
    return BOTH_ENDS if options.sender is not None else options.captured_at


def command_check(options: argparse.Namespace) -> int:
    _complain_of_options(options)
    if options.write is not None:
        annotate.prepare(options.write)
    where = listed(options.file)
    if options.explain:
        from netblt_conformance.check import explain

        return explain.command(where, options)
    with Tshark() as tshark:
        if options.sender is not None:
            checked = [_check_ends(tshark, options)]
        else:
            checked = _sorted_out(_check_all(tshark, where.captures, options), where)
    results = [row for file in checked for row in file.results]
    status = exit_code(results, strict=options.strict)
    document = report.document(
        checked, status, strict=options.strict, captured_at=_captured_at(options), skipped=where.skipped
    )
    if options.json:
        sys.stdout.writelines(report.pieces(document, checked, one_line=False))
    else:
        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        sys.stdout.write(
            report.text(checked, colour, verbose=options.verbose, quiet=options.quiet, skipped=where.skipped)
        )
    sys.stdout.flush()
    header = {"suite": document["suite"], "strict": options.strict, "captured_at": _captured_at(options) or "unknown"}
    if options.junit is not None:
        deliver(files.junit(header, results + [report.skipped_row(*one) for one in where.skipped]), options.junit)
    if options.html is not None:
        from netblt_conformance.check import page

        both = (str(options.sender), str(options.receiver)) if options.sender is not None else None
        page.write(options.html, checked, {**header, "exit_code": int(status)}, both_ends=both)
    for file in checked:
        if file.error:
            print(fit(f"error: {file.name}: {file.error}"), file=sys.stderr)
    return status
