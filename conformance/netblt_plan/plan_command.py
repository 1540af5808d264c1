# SPDX-License-Identifier: GPL-2.0-or-later
"""netblt-plan plan: from rate, round trip, loss and size to a table, a picture and the command lines."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path as File
from typing import Any

from netblt_conformance.common import tables
from netblt_conformance.common.destinations import try_file
from netblt_conformance.common.tables import Column
from netblt_conformance.common.verdicts import ExitCode

from netblt_plan import command_lines, units
from netblt_plan.path import Path
from netblt_plan.planning import Plan, Prediction, plan, predict
from netblt_plan.scenario import ScenarioError

DEFAULT_PICTURE = File("netblt-plan.svg")
_DEFAULT_QUEUE = "100ms"
_DEFAULT_MTU_BYTES = 1500
_MTU_MIN_BYTES, _MTU_MAX_BYTES = 576, 9000
_SEEDS = 3
_ROWS = 12  # of the table; --all shows the others
_PICTURE_SUFFIXES = (".svg", ".png", ".pdf")

_FIGURES = ("packet", "buffer", "buffers", "burst", "ms", "Mb/s", "time", "of rate", "resent", "dropped")
_COLUMNS = (Column(right=True), Column(), Column("rate"), *(Column(figure, right=True) for figure in _FIGURES))


def _value(read: Callable[[str], float]) -> Callable[[str], Any]:
    def convert(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def _whole(low: int, high: int) -> Callable[[str], int]:
    def convert(text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number between {low} and {high}")
        return int(text)

    return convert


def _picture(text: str) -> File:
    file = File(text)
    if file.suffix not in _PICTURE_SUFFIXES:
        raise argparse.ArgumentTypeError(f"{text!r} does not end in {', '.join(_PICTURE_SUFFIXES)}")
    return file


def add_options(parser: argparse.ArgumentParser) -> None:
    """Registers the options of `plan`."""
    rate, seconds = _value(units.rate), _value(units.seconds)
    path = parser.add_argument_group("path")
    path.add_argument("--rate", required=True, type=rate, metavar="RATE", help="of the link, with IP headers: 20M")
    path.add_argument("--rtt", required=True, type=seconds, metavar="TIME", help="round trip without queues: 560ms")
    path.add_argument(
        "--loss", type=_value(units.share), default=0.0, metavar="SHARE", help="of the packets, both ways: 0.3%% (0%%)"
    )
    path.add_argument("--size", required=True, type=_value(units.size), metavar="SIZE", help="of the file: 100M, 1GiB")
    path.add_argument("--back-rate", type=rate, metavar="RATE", help="of the way back (default: as --rate)")
    path.add_argument(
        "--queue", type=seconds, default=_DEFAULT_QUEUE, metavar="TIME", help="before the link (default: %(default)s)"
    )
    path.add_argument(
        "--mtu",
        type=_whole(_MTU_MIN_BYTES, _MTU_MAX_BYTES),
        default=_DEFAULT_MTU_BYTES,
        metavar="BYTES",
        help="of the path, IP header included (default: %(default)s)",
    )
    path.add_argument("--encap", choices=("ip", "udp"), default="ip", help="as of netblt (default: %(default)s)")
    commands = parser.add_argument_group("command lines")
    commands.add_argument("--file", default="FILE", help="name of the file to send (default: %(default)s)")
    commands.add_argument("--host", default="HOST", help="address of the receiver (default: %(default)s)")
    output = parser.add_argument_group("output")
    output.add_argument("--all", action="store_true", help=f"every candidate, not only the fastest {_ROWS}")
    output.add_argument("--json", action="store_true", help="one JSON document instead of the text")
    output.add_argument(
        "--picture",
        type=_picture,
        default=DEFAULT_PICTURE,
        metavar="FILE",
        help="an .svg, .png or .pdf file (default: %(default)s)",
    )
    output.add_argument("--no-picture", action="store_true", help="write no picture")
    output.add_argument("--seed", type=_whole(0, 2**31), default=1, help="first seed of three (default: %(default)s)")
    output.add_argument(
        "--try",
        dest="trial",
        type=_value(units.size),
        metavar="SIZE",
        help="also transfer so much with the printed command lines, between network namespaces with these "
        "impairments (Linux, root)",
    )
    parser.set_defaults(function=command_plan)


def _path(options: argparse.Namespace) -> Path:
    return Path(
        rate=options.rate,
        back_rate=options.back_rate or options.rate,
        rtt_s=options.rtt,
        loss=options.loss,
        queue_s=options.queue,
        mtu_bytes=options.mtu,
        udp=options.encap == "udp",
    )


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value < 100 else f"{value:.0f} s"


def _row(found: Plan, number: int, one: Prediction) -> list[str]:
    its = one.settings
    mark = "*" if one is found.choice else "+" if one is found.automatic else ""
    sizes = (its.packet_size, its.buffer_size, its.max_buffers, its.burst_size, its.burst_interval_ms)
    cells = [str(number), mark, "auto" if its.automatic else "fixed", *map(str, sizes)]
    if not one.finished:
        return [*cells, *"-----"]
    shares = (f"{one.efficiency:.1%}", f"{one.retransmitted / max(1.0, one.sent):.2%}", f"{one.queue_drops:.2%}")
    return [*cells, f"{one.goodput_bps / 1e6:.3f}", _seconds(one.seconds), *shares]


def table(found: Plan, most: int | None = _ROWS) -> str:
    """The fastest candidates, and the choices wherever they are. `most` None: all."""
    shown = [
        (number, one)
        for number, one in enumerate(found.predictions, 1)
        if most is None or number <= most or one is found.choice or one is found.automatic
    ]
    lines = tables.lines(_COLUMNS, [_row(found, number, one) for number, one in shown], gap=1)
    if not all(one.finished for _number, one in shown):
        lines.append("    (-: did not finish)")
    left = len(found.predictions) - len(shown)
    return "\n".join([*lines, f"    ({left} slower candidates: --all)"] if left > 0 else lines)


def _path_text(path: Path, size: int) -> str:
    back = "" if path.back_rate == path.rate else f" ({units.rate_text(path.back_rate)}bit/s back)"
    return (
        f"{units.size_text(size)} over {units.rate_text(path.rate)}bit/s{back}, round trip {path.rtt_s * 1000:g} ms, "
        f"{100 * path.loss:g} % of the packets lost each way, queue {path.queue_s * 1000:g} ms\n"
        f"bandwidth-delay product {units.size_text(path.product_bytes)}; "
        f"at best {_seconds(8 * size / (path.capacity(path.packet_size) * (1 - path.loss)))} + round trips"
    )


def _commands_text(found: Plan, options: argparse.Namespace) -> str:
    assert found.choice is not None
    path, chosen = found.path, found.choice
    rate = "automatic" if chosen.settings.automatic else "fixed"
    lines = [
        f"* {rate} rate, {_seconds(chosen.seconds)}. Start the receiver first:",
        f"  {command_lines.shell(command_lines.receiver(path, chosen.settings, options.file))}",
        f"  {command_lines.shell(command_lines.sender(path, chosen.settings, options.file, options.host))}",
    ]
    if found.automatic is not None and found.automatic is not chosen:
        other = found.automatic
        lines += [
            f"+ if the rate is not certain, or others use the path: automatic rate, {_seconds(other.seconds)}:",
            f"  {command_lines.shell(command_lines.receiver(path, other.settings, options.file))}",
            f"  {command_lines.shell(command_lines.sender(path, other.settings, options.file, options.host))}",
        ]
    if not path.udp:
        lines.append("Raw IP (protocol 30) needs root or CAP_NET_RAW at both ends; --encap udp does not.")
    return "\n".join(lines)


def _notes(found: Plan) -> list[str]:
    chosen = found.choice
    if chosen is None or not chosen.extrapolated:
        return []
    part = units.size_text(chosen.simulated_bytes)
    return [f"{part} were simulated; the rest of the transfer is counted at the steady rate."]


def as_json(found: Plan, options: argparse.Namespace) -> dict[str, Any]:
    """The same as one document. `commands`: receiver first."""

    def one(prediction: Prediction | None) -> dict[str, Any] | None:
        if prediction is None:
            return None
        figures = {
            key: value if not isinstance(value, float) or math.isfinite(value) else None
            for key, value in dataclasses.asdict(prediction).items()
        }
        return {
            **figures,
            "commands": [
                command_lines.receiver(found.path, prediction.settings, options.file),
                command_lines.sender(found.path, prediction.settings, options.file, options.host),
            ],
        }

    return {
        "layout": 1,
        "path": dataclasses.asdict(found.path),
        "choice": one(found.choice),
        "automatic": one(found.automatic),
        "candidates": [one(prediction) for prediction in found.predictions],
    }


def _try(found: Plan, options: argparse.Namespace, seeds: list[int]) -> dict[str, Any]:
    from netblt_plan import trial

    assert found.choice is not None
    predicted = predict(found.path, found.choice.settings, options.trial, seeds)
    done = trial.run(found.path, found.choice.settings, options.trial, options.seed, predicted.seconds)
    return {"size": done.size, "seconds": done.seconds, "predicted_seconds": predicted.seconds}


def _trial_text(tried: dict[str, Any]) -> str:
    ratio = tried["seconds"] / tried["predicted_seconds"]
    return (
        f"Tried with {units.size_text(tried['size'])}: {tried['seconds']:.2f} s, predicted "
        f"{tried['predicted_seconds']:.2f} s (ratio {ratio:.2f})"
    )


def command_plan(options: argparse.Namespace) -> int:
    """Exit status: 0 planned, 1 no candidate finishes, 2 impossible or the trial failed."""
    path = _path(options)
    if path.packet_size < 1:
        raise ScenarioError(f"--mtu {path.mtu_bytes} leaves no room for data")
    if not options.no_picture:
        try_file("--picture", str(options.picture))
    seeds = [options.seed + i for i in range(_SEEDS)]
    found = plan(path, options.size, seeds)
    tried = _try(found, options, seeds) if options.trial and found.choice else None
    if found.choice is not None and not options.no_picture:
        from netblt_plan import picture

        picture.write(found, options.picture, options.seed)
    if options.json:
        print(json.dumps({**as_json(found, options), "trial": tried}, indent=1))
        return ExitCode.HOLDS if found.choice else ExitCode.FAILED
    print(f"{_path_text(path, options.size)}\n\n{table(found, None if options.all else _ROWS)}")
    if found.choice is None:
        print("\nNo candidate finishes this transfer: the path loses too much, or is too slow.", file=sys.stderr)
        return ExitCode.FAILED
    print("\n".join(["", _commands_text(found, options), *_notes(found)]))
    if tried is not None:
        print(_trial_text(tried))
    if not options.no_picture:
        print(f"Picture: {options.picture}")
    return ExitCode.HOLDS
