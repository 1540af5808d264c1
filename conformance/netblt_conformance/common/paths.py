# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the parts of the project lie: in its repository, or in the installed package, which has copies of what it needs
(tools/wheel.py). NETBLT_ROOT and NETBLT_BUILD override what is found."""

from __future__ import annotations

import os
from pathlib import Path

INSTALLED = "installed"  # the folder of a package that was installed, in the form of the repository


def root() -> Path:
    """The project's top folder."""
    if override := os.environ.get("NETBLT_ROOT"):
        return Path(override).resolve()
    package = Path(__file__).resolve().parents[1]
    repository = package.parents[1]
    return package / INSTALLED if (package / INSTALLED).is_dir() else repository


def build() -> Path:
    """Where built artefacts lie: bin/, lib/, python/."""
    override = os.environ.get("NETBLT_BUILD")
    return Path(override).resolve() if override else root() / "build"


def catalogue() -> Path:
    return root() / "conformance" / "catalogue"


def suite() -> Path:
    return root() / "conformance" / "suite"


def adapters() -> Path:
    return root() / "conformance" / "adapters"


def mutants() -> Path:
    return root() / "conformance" / "mutants"


def variants() -> Path:
    return root() / "conformance" / "variants"


def learned() -> Path:
    """The learned machines of the reference."""
    return root() / "conformance" / "learned"


def dissector_sources() -> Path:
    return root() / "dissector" / "src"


def dialects() -> Path:
    return root() / "conformance" / "dialects"


def dialect(name: str) -> Path:
    """What makes the reference core speak this dialect, and its mutants."""
    return dialects() / name


def core() -> Path:
    return root() / "reference_impl" / "core"


def sim_sources() -> Path:
    return root() / "conformance" / "sim"


def guided_sources() -> Path:
    """The parts of the reference core that a judge drives."""
    return root() / "conformance" / "guided"


def iut_library(dialect: str = "rfc998") -> Path:
    """The reference endpoint as an in-process implementation under test, edited to speak a dialect."""
    return build() / "lib" / ("libnetblt_iut.so" if dialect == "rfc998" else f"libnetblt_iut_{dialect}.so")
