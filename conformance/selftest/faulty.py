# SPDX-License-Identifier: GPL-2.0-or-later
"""Libraries of the reference core with planted faults, for tests of what finds them."""

from __future__ import annotations

from pathlib import Path

from netblt_conformance.common import paths
from netblt_conformance.mutants import mutants, subject


def faulty_library(folder: Path, *names: str) -> Path:
    """The core with all of these mutants, built in `folder`."""
    known, core = {one.name: one for one in mutants.load(paths.mutants())}, paths.core()
    for name in names:
        mutants.apply(known[name], core, folder / name)
        core = folder / name
    library = folder / "faulty.so"
    subject.iut_builder().build_iut(core, library, cache=folder)
    return library
