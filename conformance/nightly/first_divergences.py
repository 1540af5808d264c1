#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Lets each legal variant of the reference core take the reference's part, in virtual time, and counts how often an
ambiguity that the variant names explains where both differ first.

Each variant plays all four roles over a clean path and under single losses. Exit status 1 when a part cannot be played.

Usage: first_divergences.py [--verbose] [NAME ...]     no NAME: all variants"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from netblt_conformance.bakeoff.divergence import first
from netblt_conformance.bakeoff.exchange import exchange
from netblt_conformance.bakeoff.explanation import Class, explain
from netblt_conformance.common import paths
from netblt_conformance.common.arguments import number_of_jobs
from netblt_conformance.common.model import ALL_ROLES, Role
from netblt_conformance.mutants.mutants import MutantError, Variant, chosen, load_variants
from netblt_conformance.mutants.mutation import Workshop, workshop
from netblt_conformance.packets import captures
from netblt_conformance.simlib import Flakeway, IutLibrary, IutParams, PcapngWriter, run_pair
from netblt_conformance.trace.frames import Frame, frames

A, B = "10.0.0.1", "10.0.0.2"
FAULTS = ("", "drop OPEN nth=1", "drop DATA nth=3", "drop LDATA nth=1", "drop CONTROL nth=2", "drop DONE nth=1")
# An odd number of bytes in each packet, so that all have padding.
PACKET_BYTES = 511
DATA = bytes(range(256)) * 80
LIMIT_US = 600_000_000
UNNAMED = "an ambiguity; the variant names none"
NAMED, OTHER = "the ambiguity that the variant names", "other ambiguities only"


def transfer(opener: Path, listener: Path, fault: str, folder: Path, *, opener_sends: bool) -> list[Frame]:
    writer, file = PcapngWriter(), folder / "run.pcapng"
    one = IutParams(True, opener_sends, packet_size=PACKET_BYTES, seed=1, local_address=A, foreign_address=B)
    other = IutParams(False, not opener_sends, packet_size=PACKET_BYTES, seed=2, local_address=B, foreign_address=A)
    rules = ("latency 5ms", *([fault] if fault else []))
    with (
        IutLibrary(opener).start(one, DATA if opener_sends else b"") as a,
        IutLibrary(listener).start(other, b"" if opener_sends else DATA) as b,
    ):
        run_pair(a, b, Flakeway(1, *rules), limit_us=LIMIT_US, capture=writer)
    writer.save(file)
    return frames(captures.read(file))


def differences(reference: Path, variant: Variant, library: Path) -> Iterator[tuple[str, str]]:
    """What explains each first divergence, and the sentence."""
    with tempfile.TemporaryDirectory() as name:
        for role in ALL_ROLES:
            for fault in FAULTS:
                yield _difference(reference, variant, library, role, fault, Path(name))


def _difference(
    reference: Path, variant: Variant, library: Path, role: Role, fault: str, folder: Path
) -> tuple[str, str]:
    ends = (library, reference) if role.active else (reference, library)
    opener_sends = role.active == role.sender
    mine = transfer(*ends, fault, folder, opener_sends=opener_sends)
    others = transfer(reference, reference, fault, folder, opener_sends=opener_sends)
    address = A if role.active else B
    found = first(exchange(others, address), exchange(mine, address), ("reference", variant.name))
    if found is None:
        return "alike", ""
    explained = explain(found, ((), ()))
    words = f"{role}, {fault or 'clean'}: {' '.join([explained.kind, *explained.identifiers])}: {found.sentence}"
    if explained.kind is not Class.AMBIGUITY:
        return explained.kind.value, words
    if not variant.ambiguities:
        return UNNAMED, words
    return NAMED if set(explained.identifiers) & set(variant.ambiguities) else OTHER, words


def _of(task: tuple[Workshop, Variant]) -> list[tuple[str, str]]:
    made, variant = task
    return list(differences(made.library, variant, made.build(variant)))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--verbose", action="store_true", help="each divergence that no named ambiguity explains")
    parser.add_argument("name", nargs="*", metavar="NAME", help="of a variant (default: all)")
    options = parser.parse_args()
    try:
        variants = chosen(load_variants(paths.variants()), options.name)
    except MutantError as error:
        print(f"first_divergences: {error}", file=sys.stderr)
        return 2
    counted: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    with workshop(paths.core()) as made, ProcessPoolExecutor(number_of_jobs(0)) as pool:
        tasks = [(made, variant) for variant in variants]
        for variant, found in zip(variants, pool.map(_of, tasks), strict=True):
            kinds = {kind for kind, _ in found} - {"alike"}
            counted.update(kind for kind, _ in found)
            whole[_best(kinds)] += 1
            if options.verbose and kinds - {NAMED}:
                print(f"{variant.name} ({' '.join(variant.ambiguities) or 'no ambiguity'}):")
                for words in dict.fromkeys(words for kind, words in found if kind not in (NAMED, "alike")):
                    print(f"  {words}")
    print(f"{len(variants)} variants, {sum(counted.values())} comparisons with the reference:")
    for kind, count in counted.most_common():
        print(f"  {count:6} {kind}")
    print("Variants by what explains all of their first divergences:")
    for kind, count in whole.most_common():
        print(f"  {count:6} {kind}")
    return 0


def _best(kinds: set[str]) -> str:
    return next(iter(kinds)) if len(kinds) == 1 else "several of these" if kinds else "never differs"


if __name__ == "__main__":
    sys.exit(main())
