# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run was made with: seed and schedule state which packets, this states which programs looked at them."""

from __future__ import annotations

import hashlib
import platform
import re
from importlib import metadata
from pathlib import Path

from netblt_conformance import __version__
from netblt_conformance.common.errors import JudgeError
from netblt_conformance.judges.tshark import Tshark

_LIBRARIES = ("scapy", "pytest")
_DIGITS = 16  # of a SHA-256 that distinguishes two files


def of_this_run(subject: Path | None, *, judged: bool) -> dict[str, str]:
    """Versions by name. `subject`: the file that states what is tested, an adapter or a library. `judged`: tshark and
    the plugin look at the captures."""
    found = {"suite": __version__, "python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            found[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    found["kernel"] = f"{platform.system()} {platform.release()}"
    if judged:
        found.update(_judges())
    if subject is not None and subject.is_file():
        found[subject.name] = f"sha256 {hashlib.sha256(subject.read_bytes()).hexdigest()[:_DIGITS]}"
    return found


def _judges() -> dict[str, str]:
    try:
        with Tshark() as tshark:
            said, plugins = tshark.ask("--version"), tshark.ask("-G", "plugins")
    except JudgeError:
        return {}  # the run reports it where it needs them
    found = {}
    version = re.search(r"(\d+\.\d+\.\d+)", said)
    if version:
        found["tshark"] = version[1]
    for line in plugins.splitlines():
        words = [word.strip() for word in line.split("\t")]
        if words[0] == "netblt.so":
            found["dissector"] = words[1]
    return found


def words(versions: dict[str, str]) -> str:
    """In one line."""
    return ", ".join(f"{name} {version}" for name, version in versions.items())
