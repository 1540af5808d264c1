# SPDX-License-Identifier: GPL-2.0-or-later
"""The command doctor. Exit status: 0 each role that is described works, 1 one does not, 2 nothing could be tried."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from netblt_conformance.common import tables
from netblt_conformance.common.arguments import roles_of
from netblt_conformance.common.destinations import output_folder
from netblt_conformance.common.errors import LinkUnavailableError
from netblt_conformance.common.model import ROLES_BY_NAME
from netblt_conformance.common.tables import Column
from netblt_conformance.common.verdicts import ExitCode
from netblt_conformance.common.words import fit, fit_lines, shown_lines
from netblt_conformance.doctor import advice, frames
from netblt_conformance.doctor.child import Findings, look_at
from netblt_conformance.doctor.transfer import Stage
from netblt_conformance.packets.capture import Capture
from netblt_conformance.run import target

# Lines of an output, packets of a transfer: what a screen holds of the beginning and of the end.
OUTPUT_LINES = 12
PACKETS_AT_EACH_END = 20
DEFAULT_SEED = 1


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Runs one small transfer in each role and shows the command line, exit status, standard output and error, "
        "and the packets. Exit status: 0 each role that is described works, 1 one does not, 2 nothing could be tried."
    )
    parser.add_argument("--adapter", type=Path, metavar="FILE", help="TOML file that describes the implementation")
    parser.add_argument("--link", choices=target.LINKS, help="default: what the adapter describes")
    parser.add_argument("--iut-library", type=Path, metavar="SO", help="a library with netblt_iut.h's ABI")
    names = sorted(ROLES_BY_NAME)
    text = f"one of {', '.join(names)} (default: all)"
    parser.add_argument("--role", action="append", choices=names, metavar="ROLE", help=text)
    parser.add_argument(
        "--captures", type=output_folder("--captures"), metavar="DIR", help="write a capture of each transfer there"
    )
    parser.add_argument("--trace", type=Path, metavar="FILE", help="pipe: append every frame to FILE, as text")
    parser.add_argument("--all", action="store_true", help="show all packets and all of the output")


def command_doctor(options: argparse.Namespace) -> int:
    chosen = target.choose(options.link, options.adapter, options.iut_library)
    roles = roles_of(options.role)
    if options.trace is not None and chosen.link != "pipe":
        raise target.TargetError(f"--trace is for --link pipe; this is --link {chosen.link}")
    factory = chosen.factory(trace=options.trace)
    factory.check()
    print(fit(target.line(factory.testing())), flush=True)
    found = []
    for role in roles:
        findings = look_at(factory, role, DEFAULT_SEED)
        found.append(findings)
        if findings.examined.stage is not Stage.NOT_SUPPORTED:
            print(fit_lines("\n".join(_role(findings, whole=options.all))), flush=True)
        if options.captures is not None and findings.frames:
            _write(findings, options.captures)
    print()
    rows = [(str(one.examined.role), advice.summary(one.examined, chosen.link)) for one in found]
    print("\n".join(tables.lines((Column(), Column(wide=True)), rows)))
    return _exit_code(found)


def _exit_code(found: list[Findings]) -> ExitCode:
    stages = {findings.examined.stage for findings in found} - {Stage.NOT_SUPPORTED}
    if not stages:
        return ExitCode.COULD_NOT_RUN
    return ExitCode.HOLDS if stages == {Stage.WORKS} else ExitCode.FAILED


def _role(findings: Findings, *, whole: bool) -> list[str]:
    """Everything that there is to see of one role."""
    account = findings.examined.account
    rows = ["", str(findings.examined.role)]
    if account.command:
        rows.append(f"  command       {shlex.join(account.command)}")
        works = findings.examined.stage is Stage.WORKS
        alive = "it ran on after the transfer, and was ended" if works else "it was still running, and was ended"
        rows.append(f"  end           {advice.ending(account) or alive}")
    for name, text in (("output", account.output), ("error", account.errors)):
        lines = shown_lines(text, None if whole else OUTPUT_LINES)
        rows += [f"  {f'standard {name}':<16}{line}" if not n else f"{'':<18}{line}" for n, line in enumerate(lines)]
    return rows + _packets(findings, whole=whole)


def _packets(findings: Findings, *, whole: bool) -> list[str]:
    if not findings.frames:
        return ["  no packet was sent or received"]
    rows = [
        "  " + frames.line(number, frame.time_us, frame.packet, sent=frame.sent)
        for number, frame in enumerate(findings.frames, 1)
    ]
    if not whole and len(rows) > 2 * PACKETS_AT_EACH_END:
        left_out = f"  ... {len(rows) - 2 * PACKETS_AT_EACH_END} packets more (--all)"
        rows = [*rows[:PACKETS_AT_EACH_END], left_out, *rows[-PACKETS_AT_EACH_END:]]
    return rows


def _write(findings: Findings, folder: Path) -> None:
    capture = Capture()
    capture.frames = findings.frames
    try:
        folder.mkdir(parents=True, exist_ok=True)
        capture.write(folder / f"doctor.{findings.examined.role}.pcapng")
    except OSError as error:
        raise LinkUnavailableError(f"--captures {folder}: {error.strerror}; choose another folder") from None
