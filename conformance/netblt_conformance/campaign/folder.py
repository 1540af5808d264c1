# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder of a campaign: what it runs, and a Parquet file for each block of units that has ended.

A block counts when its file has its name, which it gets in one atomic step: so a unit is counted once, whatever ends
at whatever moment, and a block that ran twice replaces itself."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netblt_conformance.campaign import description, identity
from netblt_conformance.campaign.description import Description
from netblt_conformance.campaign.errors import CampaignError
from netblt_conformance.campaign.kind import Subject
from netblt_conformance.common import paths

STATE, LOCK, BLOCKS, SUBJECT = "campaign.json", "lock", "blocks", "subject"
LAYOUT = 1
_BLOCK = re.compile(r"(\d{8,})\.parquet")
_TEMPORARY = ".partial"


@dataclass(frozen=True, slots=True)
class State:
    """What stays the same from the first start of a campaign to its end."""

    description: Description
    units: int
    block: int
    project: dict[str, str]  # identity.project() of the machine that began it
    subject: str  # identity.of_subject()
    library: str = ""  # name of the copy in SUBJECT; empty: an adapter, or a kind that tests nothing

    @property
    def id(self) -> str:
        """The same for the same campaign: what it runs, of what, with which sources."""
        return identity.digest([("state", json.dumps(self.to_json(), sort_keys=True).encode())])

    @property
    def blocks(self) -> int:
        return -(-self.units // self.block)

    def range_of(self, block: int) -> range:
        """The units of a block."""
        return range(block * self.block, min((block + 1) * self.block, self.units))

    def to_json(self) -> dict[str, Any]:
        return {
            "layout": LAYOUT,
            "description": self.description.model_dump(exclude_none=True),
            "units": self.units,
            "block": self.block,
            "project": self.project,
            "subject": self.subject,
            "library": self.library,
        }

    @classmethod
    def from_json(cls, row: dict[str, Any], where: str) -> State:
        if row.get("layout") != LAYOUT:
            raise CampaignError(f"{where}: layout {row.get('layout')!r}: this version reads {LAYOUT}")
        fields = {name: row[name] for name in ("units", "block", "project", "subject", "library")}
        return cls(description.from_json(row["description"], where), **fields)


class Folder:
    """One campaign's results."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.blocks = path / BLOCKS

    @property
    def exists(self) -> bool:
        return (self.path / STATE).is_file()

    def create(self, state: State, subject: Subject) -> None:
        """Makes the folder, with a copy of the library: a campaign that continues tests the same bytes."""
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise CampaignError(f"{self.path} exists and holds no campaign: give another --output")
        self.blocks.mkdir(parents=True)
        if state.library:
            (self.path / SUBJECT).mkdir()
            shutil.copy2(subject.library or paths.iut_library(), self.path / SUBJECT / state.library)
        self._put(self.path / STATE, json.dumps(state.to_json(), ensure_ascii=False, indent=1).encode() + b"\n")

    def state(self) -> State:
        where = self.path / STATE
        try:
            return State.from_json(json.loads(where.read_text(encoding="utf-8")), str(where))
        except FileNotFoundError:
            raise CampaignError(f"{self.path} holds no campaign: there is no {STATE}") from None
        except OSError as error:
            raise CampaignError(f"{where}: {error.strerror}") from None
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
            raise CampaignError(f"{where} is damaged: {error}") from None

    def subject(self, state: State) -> Subject:
        """The implementation under test, from the folder's copy where there is one."""
        if state.library:
            return Subject(library=self.path / SUBJECT / state.library)
        adapter = state.description.target.adapter
        return Subject(adapter=Path(adapter) if adapter else None)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """One command at a time works on a folder. What an earlier one left half written is removed."""
        with (self.path / LOCK).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise CampaignError(f"{self.path}: another command runs this campaign now") from None
            for left in self.blocks.glob(f"*{_TEMPORARY}"):
                left.unlink()
            yield

    def finished(self) -> set[int]:
        """The blocks that have ended."""
        return {int(found[1]) for path in self.blocks.iterdir() if (found := _BLOCK.fullmatch(path.name))}

    def store(self, block: int, content: bytes) -> None:
        self._put(self.blocks / f"{block:08}.parquet", content)

    @staticmethod
    def _put(path: Path, content: bytes) -> None:
        """The whole file or none, also when the machine stops."""
        partial = path.with_name(f"{path.name}{_TEMPORARY}")
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
