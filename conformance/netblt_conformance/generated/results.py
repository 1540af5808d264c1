# SPDX-License-Identifier: GPL-2.0-or-later
"""What a measurement of mutants found so far, as a JSON file: one that was interrupted goes on where it ended."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from netblt_conformance.mutants.mutants import MutantError

LEGAL, ILLEGAL, MISSED = "legal", "illegal", "missed"  # which scripts kill a mutant


@dataclass(frozen=True, slots=True)
class Judged:
    """One mutant."""

    requirement: str
    killed_by: str  # one of the three above
    scripts: int
    first: str = ""  # the failure that killed it


class Results:
    """The mutants that were judged, by name. `how`: with which scripts; results of others do not count."""

    def __init__(self, path: Path | None, how: dict[str, int | bool]) -> None:
        self._path = path
        self._how = how
        self.judged: dict[str, Judged] = {}
        if path is not None and path.exists():
            self._read(path)

    def _read(self, path: Path) -> None:
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            how, judged = document["how"], {name: Judged(**one) for name, one in document["mutants"].items()}
        except OSError as error:
            raise MutantError(f"--results {path}: {error.strerror}") from None
        except (ValueError, KeyError, AttributeError, TypeError):
            raise MutantError(
                f"--results {path}: not a file that netblt-conformance generate --mutants wrote"
            ) from None
        if how != self._how:
            raise MutantError(f"--results {path}: measured with {how}, not with {self._how}; give another file")
        self.judged = judged

    def add(self, name: str, one: Judged) -> None:
        """Also to the file, which is whole at any moment."""
        self.judged[name] = one
        if self._path is None:
            return
        mutants = {name: asdict(one) for name, one in sorted(self.judged.items())}
        beside = self._path.with_name(f"{self._path.name}.part")
        beside.write_text(json.dumps({"how": self._how, "mutants": mutants}, indent=1) + "\n", encoding="utf-8")
        beside.replace(self._path)
