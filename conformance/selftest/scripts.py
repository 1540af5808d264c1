# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads a script of conformance/nightly as a module: these scripts are no part of a package."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from netblt_conformance.common import paths


def nightly_script(name: str) -> ModuleType:
    """conformance/nightly/NAME.py. Each call executes it again. Its name differs from those of the suite's modules."""
    path = paths.root() / "conformance" / "nightly" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"nightly_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for their module there
    spec.loader.exec_module(module)
    return module
