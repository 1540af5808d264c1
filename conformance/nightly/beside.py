#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures the judge of `check --explain`: on captures of mutants it must name the frame of the Wireshark plugin or the
one that decided the case, and on captures of the reference and of legal variants it must report nothing.

Usage: beside.py [--jobs N] [mutants[=NAME,...]|reference|transfers[=COUNT]|variants[=NAME,...]]...   without: all
Exit status: 1 when fewer than 95 % of the frames are the same, or a conforming capture is reported."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from netblt_conformance.common import paths
from netblt_conformance.common.arguments import number_of_jobs
from netblt_conformance.common.model import address_text
from netblt_conformance.judges.second import findings, position_options
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.links.base import IUT_ADDRESS
from netblt_conformance.mutants import mutation
from netblt_conformance.mutants.mutants import Mutant, Variant, load, load_variants
from netblt_conformance.reference.beside import explain, first_outside
from netblt_conformance.run.loaded import with_cases

SAME_SHARE = 0.95
SHOWN_MOST = 20
TRANSFERS = 1700  # three captures each
PLAN_SEED, BATCH = 2_000_006, 50


# ---- mutants ----


def _kill(made: mutation.Workshop, mutant: Mutant) -> mutation.Outcome:
    """Runs the cases of the requirement until one fails the mutant; the captures stay."""
    outcome = mutation.run_cases(
        made.build(mutant),
        mutant.requirement,
        made.report(mutant),
        lambda result: mutation.convicts(result, mutant),
    )
    outcome.killer = next((one for one in outcome.results if mutation.convicts(one, mutant)), None)
    return outcome


def _frames_of_plugin(tshark: Tshark, capture: Path, role: str, planted: str) -> list[int]:
    """The first frame that the plugin holds against the implementation for what was planted, and for anything."""
    iut = address_text(IUT_ADDRESS)
    found = findings(tshark, [capture], position_options(role), violations=False)
    mine = [one for _, one in found if one.offender_address == iut]
    of_planted = [one.guilty_frame for one in mine if one.requirement == planted]
    return [min(frames) for frames in (of_planted, [one.guilty_frame for one in mine]) if frames]


def _compare(tshark: Tshark, report: Path, mutant: Mutant, outcome: mutation.Outcome) -> bool:
    """Whether the judge names the same frame, in the capture of the case or in the first that the plugin reports."""
    killer = outcome.killer
    assert killer is not None
    captures = [(result.capture, result.role) for result in (killer, *outcome.results) if result.capture]
    planted = mutant.found_as or mutant.requirement
    for name, role in dict.fromkeys(captures):
        plugin = _frames_of_plugin(tshark, report / str(name), role, planted)
        decided = killer.frame if name == killer.capture else None
        expected = {*plugin, *([decided] if decided else [])}
        if not expected:
            continue
        outside = first_outside(report / str(name), IUT_ADDRESS, virtual=True)
        same = outside is not None and outside.frame in expected
        named = f"frame {outside.frame} ({outside.requirement})" if outside else "no frame"
        print(
            f"{'same ' if same else 'OTHER'} {planted:<10} {mutant.name}: {named}, expected {sorted(expected)}",
            flush=True,
        )
        return same
    print(f"OTHER {planted:<10} {mutant.name}: no capture shows it")
    return False


def measure_mutants(jobs: int, names: Sequence[str]) -> bool:
    visible = [mutant for mutant in load(paths.mutants()) if mutant.wire_visible]
    wanted = [mutant for mutant in visible if not names or mutant.name in names]
    same = 0
    with mutation.workshop(paths.core()) as made, Tshark() as tshark:
        for mutant, outcome in zip(wanted, mutation.in_parallel(_kill, made, wanted, jobs), strict=True):
            if outcome.killer is None:
                print(f"OTHER {mutant.requirement:<10} {mutant.name}: {outcome.mistake or 'no case fails it'}")
                continue
            same += _compare(tshark, made.report(mutant), mutant, outcome)
    print(f"mutants: the frame of plugin or case for {same} of {len(wanted)} ({100 * same / len(wanted):.1f} %)")
    return same >= SAME_SHARE * len(wanted)


# ---- conforming implementations ----


def _accused(report: Path) -> tuple[int, list[str]]:
    """How many captures there are, and lines about those that are reported."""
    lines, count = [], 0
    for capture in sorted(report.glob("*.pcapng")):
        count += 1
        outside = first_outside(capture, IUT_ADDRESS, virtual=True)
        if outside is not None:
            lines.append(f"{capture.name}: frame {outside.frame}, {outside.requirement}, expected {outside.expected}")
    return count, lines


def _all_cases(made: mutation.Workshop, variant: Variant) -> mutation.Outcome:
    """Runs every case, and follows every capture: a wrong one becomes the `mistake`."""
    report = made.report(variant)
    outcome = mutation.run_cases(made.build(variant), "", report)
    count, lines = _accused(report)
    outcome.observed = {"captures": {"count": str(count)}}
    outcome.mistake = "\n".join(lines[:SHOWN_MOST])
    for capture in report.glob("*.pcapng"):
        capture.unlink()
    return outcome


def measure_variants(jobs: int, names: Sequence[str]) -> bool:
    wanted = [one for one in load_variants(paths.variants()) if not names or one.name in names]
    captures, bad = 0, 0
    with mutation.workshop(paths.core()) as made:
        for variant, outcome in zip(wanted, mutation.in_parallel(_all_cases, made, wanted, jobs), strict=True):
            captures += int(outcome.observed.get("captures", {}).get("count", 0))
            bad += bool(outcome.mistake)
            print(f"{'ACCUSED' if outcome.mistake else 'inside '} {variant.name}", flush=True)
            if outcome.mistake:
                print(outcome.mistake)
    print(f"variants: {captures} captures of {len(wanted)} legal variants, {bad} variants accused")
    return not bad


def measure_reference(jobs: int) -> bool:
    with mutation.workshop(paths.core()) as made:
        report = made.folder / "reports" / "reference"
        mutation.run_cases(made.library, "", report, jobs=jobs)
        count, lines = _accused(report)
    print(f"reference: {count} captures of the suite, {len(lines)} accused")
    print("\n".join(lines[:SHOWN_MOST]), end="\n" if lines else "")
    return not lines


def measure_transfers(count: int) -> bool:
    """Random transfers of the reference over bad paths, captured at both ends and between them, with losses in the
    capture, cut packets and late starts: the position is not known to the judge."""
    sys.path.insert(0, str(paths.root()))
    from dissector.tests.forge import write_pcapng
    from dissector.tests.transfers import POINTS, in_batches, load, random_plan, run_all

    ends, lines = 0, []
    library = load(paths.iut_library())
    with tempfile.TemporaryDirectory(prefix="netblt-beside-") as name:
        capture = Path(name) / "transfers.pcapng"
        for batch in in_batches([random_plan(PLAN_SEED + number) for number in range(count)], BATCH):
            frames, _ = run_all(batch, library, None)
            write_pcapng(capture, frames, interfaces=POINTS)
            for end in explain(capture):
                ends += 1
                if end.outside is not None:
                    lines.append(f"{end.end}: frame {end.outside.frame}, {end.outside.requirement}")
    print(f"transfers: {count} at {len(POINTS)} points, {ends} ends followed, {len(lines)} accused")
    print("\n".join(lines[:SHOWN_MOST]), end="\n" if lines else "")
    return not lines


def _measured(words: Sequence[str], jobs: int) -> Iterator[bool]:
    for word in words:
        kind, _, names = word.partition("=")
        chosen = names.split(",") if names else ()
        if kind == "mutants":
            yield measure_mutants(jobs, chosen)
        elif kind == "reference":
            yield measure_reference(jobs)
        elif kind == "transfers":
            yield measure_transfers(int(names or TRANSFERS))
        elif kind == "variants":
            yield measure_variants(jobs, chosen)
        else:
            raise SystemExit(f"unknown word {word!r}: mutants, reference, transfers or variants")


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures the judge of check --explain.")
    parser.add_argument("--jobs", type=int, default=0, help="mutants and variants at a time")
    parser.add_argument("words", nargs="*", default=["mutants", "reference", "transfers", "variants"], metavar="WHAT")
    options = parser.parse_args()
    jobs = number_of_jobs(options.jobs)
    return with_cases(lambda _loaded: 0 if all(list(_measured(options.words, jobs))) else 1)


if __name__ == "__main__":
    sys.exit(main())
