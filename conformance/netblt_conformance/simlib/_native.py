# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads the compiled module `_netblt_sim` from the build folder."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

from netblt_conformance.simlib.build import module_path


def _load() -> Any:
    path = module_path()
    if not path.is_file():
        raise ImportError(
            f"the simulator's module {path} has not been built: run tools/build, "
            "or python -m netblt_conformance.simlib.build"
        )
    spec = importlib.util.spec_from_file_location("_netblt_sim", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python extension module")
    module = importlib.util.module_from_spec(spec)
    sys.modules["_netblt_sim"] = module
    spec.loader.exec_module(module)
    return module


_module = _load()
ffi: Any = _module.ffi
lib: Any = _module.lib


def text(pointer: Any) -> str:
    """A C string as Python text; bytes that are no UTF-8 are shown, not refused."""
    return str(ffi.string(pointer).decode("utf-8", "backslashreplace"))
