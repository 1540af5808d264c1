# SPDX-License-Identifier: GPL-2.0-or-later
"""Libraries of the reference core with planted faults or legal changes, for tests of what judges them."""

from __future__ import annotations

from pathlib import Path

from netblt_conformance.common import paths
from netblt_conformance.mutants import mutants, subject
from netblt_conformance.mutants.mutants import Mutant, Variant


def objects() -> Path:
    """Object files of the core and its edited copies, each named after its content."""
    return paths.build() / "objects-faulty"


def faulty_library(folder: Path, *names: str) -> Path:
    """The core with all of these mutants and legal variants, built in `folder`. The objects of what they leave as it is
    are shared by all tests, whichever process runs them."""
    known: dict[str, Mutant | Variant] = {one.name: one for one in mutants.load(paths.mutants())}
    known |= {one.name: one for one in mutants.load_variants(paths.variants())}
    core = paths.core()
    for name in names:
        mutants.apply(known[name], core, folder / name)
        core = folder / name
    library = folder / "faulty.so"
    subject.iut_builder().build_iut(core, library, cache=objects())
    return library
