# SPDX-License-Identifier: GPL-2.0-or-later
"""What generated scripts kill, by requirement, and what it means for hand-written cases."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from netblt_conformance.mutants.mutants import Mutant, MutantError


@dataclass(frozen=True, slots=True)
class Matrix:
    """Which cases kill which mutants: what `netblt-conformance mutants --matrix FILE` writes."""

    kills: Mapping[str, Sequence[str]]  # mutant -> cases

    @classmethod
    def read(cls, path: Path) -> Matrix:
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            kills = {str(mutant): [str(case) for case in cases] for mutant, cases in document["kills"].items()}
        except OSError as error:
            raise MutantError(f"--matrix {path}: {error.strerror}") from None
        except (ValueError, KeyError, AttributeError, TypeError):
            hint = "it has to be a file that netblt-conformance mutants --matrix wrote"
            raise MutantError(f"--matrix {path}: no matrix of cases and mutants; {hint}") from None
        return cls(kills)

    def only_by_cases(self, killed: frozenset[str], judged: frozenset[str]) -> list[str]:
        """Mutants that were judged, that scripts miss, and that a case kills."""
        return sorted(name for name, cases in self.kills.items() if cases and name in judged - killed)

    def superfluous(self, killed: frozenset[str]) -> list[str]:
        """Cases of which scripts kill every mutant that they kill. A case that kills none is not judged by this."""
        by_case: dict[str, set[str]] = defaultdict(set)
        for mutant, cases in self.kills.items():
            for case in cases:
                by_case[case].add(mutant)
        return sorted(case for case, mutants in by_case.items() if mutants <= killed)

    def cases(self) -> int:
        """Cases that kill a mutant."""
        return len({case for cases in self.kills.values() for case in cases})


def by_requirement(killed: Iterable[Mutant], missed: Iterable[Mutant]) -> list[str]:
    """A line for each requirement of which a mutant was missed, and one for all others."""
    counts: dict[str, list[list[str]]] = defaultdict(lambda: [[], []])
    for which, mutants in enumerate((killed, missed)):
        for mutant in mutants:
            counts[mutant.requirement][which].append(mutant.name)
    lines = [
        f"{requirement:<10} {len(dead)} of {len(dead) + len(alive)} killed, missed: {', '.join(alive)}"
        for requirement, (dead, alive) in sorted(counts.items())
        if alive
    ]
    whole = [requirement for requirement, (_, alive) in counts.items() if not alive]
    return [*lines, f"all mutants of {len(whole)} of {len(counts)} requirements are killed"]


def cases(matrix: Matrix, killed: frozenset[str], judged: frozenset[str]) -> list[str]:
    """What the matrix shows: mutants that only cases kill, and cases that scripts make superfluous."""
    only, superfluous = matrix.only_by_cases(killed, judged), matrix.superfluous(killed)
    return [
        f"{len(only)} mutants are killed by hand-written cases only: {', '.join(only) or 'none'}",
        f"{len(superfluous)} of {matrix.cases()} cases that kill a mutant kill none that scripts miss:",
        *(f"    {case}" for case in superfluous),
    ]
