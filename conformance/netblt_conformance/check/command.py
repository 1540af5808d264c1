# SPDX-License-Identifier: GPL-2.0-or-later
"""The command check."""

from __future__ import annotations

import argparse
import collections
import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

from netblt_conformance.check import annotate, report
from netblt_conformance.check.judge import Checked, exit_code, judge
from netblt_conformance.judges.tshark import JudgeError, Tshark, opened
from netblt_conformance.report import files
from netblt_conformance.report.deliver import deliver
from netblt_conformance.report.progress import Progress

STANDARD_INPUT = "-"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="+", metavar="FILE", help="pcap or pcapng, also compressed; - is standard input")
    parser.add_argument("--strict", action="store_true", help="a suspicion is a failure too (exit status 1)")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of the table")
    parser.add_argument("--junit", metavar="FILE", help="JUnit XML also to FILE")
    parser.add_argument(
        "--write", type=Path, metavar="DIR", help="copies of the captures there, with the findings as packet comments"
    )
    volume = parser.add_mutually_exclusive_group()
    volume.add_argument("-v", "--verbose", action="store_true", help="what held and what was not observable too")
    volume.add_argument("-q", "--quiet", action="store_true", help="only what did not hold, and the summary")


@contextlib.contextmanager
def _input(name: str, seekable: bool) -> Iterator[tuple[IO[bytes], Path | None]]:
    """The capture as a stream, and where it lies when it is a file."""
    if name != STANDARD_INPUT:
        with opened(Path(name)) as file:
            yield file, Path(name)
    elif seekable:
        with tempfile.NamedTemporaryFile(prefix="netblt-check-") as copy:
            while chunk := sys.stdin.buffer.read(1 << 20):
                copy.write(chunk)
            copy.flush()
            with Path(copy.name).open("rb") as file:
                yield file, Path(copy.name)
    else:
        yield sys.stdin.buffer, None


def copies(names: Sequence[str]) -> list[str]:
    """What the copies of these captures are called: two that lie in different folders must not become one."""
    seen: collections.Counter[str] = collections.Counter()
    called = []
    for name in names:
        stem = "stdin" if name == STANDARD_INPUT else Path(name).name.split(".pcap")[0]
        seen[stem] += 1
        called.append(f"{stem}.checked.pcapng" if seen[stem] == 1 else f"{stem}-{seen[stem]}.checked.pcapng")
    return called


def _check(tshark: Tshark, name: str, copy: str, options: argparse.Namespace) -> Checked:
    shown = "standard input" if name == STANDARD_INPUT else name
    try:
        with _input(name, options.write is not None) as (file, path):
            checked = judge(tshark, file, shown)
            if options.write is not None and path is not None and checked.connections:
                annotate.write(path, options.write / copy, checked)
            return checked
    except JudgeError as error:
        words = str(error).removeprefix(f"{shown}: ")
        return Checked(shown, error=words)


def _check_all(tshark: Tshark, options: argparse.Namespace) -> list[Checked]:
    """One tshark for each file, as many at once as there are processors; in the order in which they were named."""
    names = options.file
    one_by_one = names.count(STANDARD_INPUT) > 1  # the first reads it to its end
    progress = Progress(wanted=not options.quiet)
    checked: list[Checked] = []
    with ThreadPoolExecutor(1 if one_by_one else os.cpu_count() or 2) as pool:
        try:
            for one in pool.map(lambda name, copy: _check(tshark, name, copy, options), names, copies(names)):
                checked.append(one)
                progress.show("captures", len(checked), len(names))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
        finally:
            progress.clear()
    return checked


def command_check(options: argparse.Namespace) -> int:
    if options.write is not None:
        annotate.prepare(options.write)
    with Tshark() as tshark:
        checked = _check_all(tshark, options)
    results = [row for file in checked for row in file.results]
    status = exit_code(results, strict=options.strict)
    document = report.document(checked, status, strict=options.strict)
    if options.json:
        sys.stdout.write(report.as_json(document))
        sys.stdout.flush()
    else:
        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        sys.stdout.write(report.text(checked, colour, verbose=options.verbose, quiet=options.quiet))
        sys.stdout.flush()
    header = {"suite": document["suite"], "strict": options.strict}
    deliver(files.junit(header, results), options.junit)
    for file in checked:
        if file.error:
            print(f"error: {file.name}: {file.error}", file=sys.stderr)
    return status
