# SPDX-License-Identifier: GPL-2.0-or-later
"""The reference core as an end that speaks another dialect: edits of it, kept as data outside its sources, like those
of variants (conformance/dialects/NAME/*.toml)."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from types import ModuleType

from netblt_conformance.common import paths
from netblt_conformance.mutants import mutants
from netblt_conformance.mutants.mutants import MutantError
from netblt_conformance.packets.dialect import RFC998, Dialect


def iut_builder() -> ModuleType:
    """conformance/sim/build_iut.py, which is a script beside the package and no part of it."""
    path = paths.sim_sources() / "build_iut.py"
    spec = importlib.util.spec_from_file_location("netblt_build_iut", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise MutantError(f"{path} is not there")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def copy_core(core: Path, copy: Path, dialect: Dialect) -> None:
    """Copies the core to `copy`, edited for the dialect. MutantError when the core has changed since."""
    mutants.copy(core, copy)
    if dialect is not RFC998:
        for variant in mutants.load_variants(paths.dialect(dialect.name)):
            mutants.edit(variant, copy)


def library(dialect: Dialect) -> Path:
    """What a run in this dialect tests when nothing else is named. Of another dialect than RFC 998 it is brought up to
    date with the core first; MutantError when that fails."""
    output = paths.iut_library(dialect.name)
    if dialect is RFC998:
        return output
    output.parent.mkdir(parents=True, exist_ok=True)
    builder = iut_builder()
    with tempfile.TemporaryDirectory(prefix=f"netblt-{dialect.name}-") as name:
        edited = Path(name) / "core"
        copy_core(paths.core(), edited, dialect)
        try:
            builder.build_iut(edited, output, cache=paths.build() / f"objects-{dialect.name}")
        except builder.CompileError as error:
            raise MutantError(f"the core edited for {dialect.title} does not compile:\n{error}") from None
    return output
