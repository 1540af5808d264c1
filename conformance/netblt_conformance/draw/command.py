# SPDX-License-Identifier: GPL-2.0-or-later
"""The command draw."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from netblt_conformance.common.arguments import at_least_one
from netblt_conformance.common.destinations import output_file
from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.pictures import SUFFIXES
from netblt_conformance.common.verdicts import ExitCode
from netblt_conformance.common.words import fit
from netblt_conformance.trace.model import Event, Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = ("ladder", "sequence")
# A picture of more packets than this is higher than programs show. A plot has no such limit.
LADDER_MAX = 400


def _picture(text: str) -> Path:
    if Path(text).suffix not in SUFFIXES:
        raise argparse.ArgumentTypeError(f"{text!r} must end in {', '.join(SUFFIXES)}")
    return output_file("--output")(text)


def _frames(text: str) -> range:
    first, _, last = text.partition("-")
    try:
        found = range(int(first), int(last or first) + 1)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} must be a frame number, or two: 10-40") from None
    if found.start < 1 or not found:
        raise argparse.ArgumentTypeError(f"{text!r} must be from a frame to the same or a later one; the first is 1")
    return found


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a pcapng capture")
    parser.add_argument(
        "--output", "-o", type=_picture, required=True, metavar="PICTURE", help="an SVG, PNG or PDF file"
    )
    parser.add_argument(
        "--kind",
        choices=KINDS,
        default=KINDS[0],
        help="an arrow for each packet, or a plot of the data packets over time (default: %(default)s)",
    )
    parser.add_argument("--frames", type=_frames, metavar="A-B", help="only packets with a frame of these numbers")
    parser.add_argument(
        "--connection-of",
        type=at_least_one,
        default=0,
        metavar="FRAME",
        help="the connection of this frame (default: the longest)",
    )
    parser.add_argument("--title", default="", metavar="TEXT", help="a line above the picture")


def shown(trace: Trace, frames: range | None) -> list[Event]:
    """The events that have one of these frames; all of them without any."""
    if frames is None:
        return list(trace.events)
    return [event for event in trace.events if any(number in frames for number in trace.frames_of(event))]


def drawn(kind: str, trace: Trace, events: Sequence[Event], title: str) -> Figure:
    """The picture of these events, of one of KINDS."""
    from netblt_conformance.draw.ladder import ladder
    from netblt_conformance.draw.sequence import sequence

    draw: Callable[[Trace, Sequence[Event], str], Figure] = {"ladder": ladder, "sequence": sequence}[kind]
    return draw(trace, events, title)


def command_draw(options: argparse.Namespace) -> int:
    from netblt_conformance.common.pictures import save
    from netblt_conformance.trace.build import build, read

    try:
        trace = build(read(options.file), options.connection_of)
    except OSError as error:
        raise JudgeError(f"{options.file}: {error.strerror or error}") from None
    deciding = options.connection_of
    if deciding and not any(deciding in trace.frames_of(event) for event in trace.events):
        raise JudgeError(f"{options.file}: frame {deciding} is not a packet of a NETBLT connection; choose another")
    events = shown(trace, options.frames)
    if not events:
        where = f" in frames {options.frames.start} to {options.frames.stop - 1}" if options.frames else ""
        raise JudgeError(f"{options.file}: there is no packet of a NETBLT connection{where}")
    if options.kind == KINDS[0] and len(events) > LADDER_MAX:
        raise JudgeError(
            f"{len(events)} packets are more than a ladder shows ({LADDER_MAX}): choose some with --frames"
        )
    try:
        save(drawn(options.kind, trace, events, options.title), options.output)
    except OSError as error:
        raise JudgeError(f"{options.output}: {error.strerror or error}") from None
    print(fit(f"{options.output}: {len(events)} packets"))
    return ExitCode.HOLDS
