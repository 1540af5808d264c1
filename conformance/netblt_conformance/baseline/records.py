# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the results of a run back from its results.jsonl, and names file and line of every mistake in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from netblt_conformance.common.verdicts import AGAINST, VERDICTS_BY_LABEL, Result
from netblt_conformance.common.words import printable
from netblt_conformance.report.files import JSON_LINES, LAYOUT_VERSION, json_lines

_RESULT = TypeAdapter(Result)
_UNSTATED = "what the requirement demands"
_WORDS_MAX = 60  # characters of a wrong value in a message


class RecordError(Exception):
    """The results of a run cannot be read; the text names the file, and the line where there is one."""


class Header(BaseModel):
    """The fields of the first line that a comparison needs. The others are kept as they are."""

    model_config = ConfigDict(extra="allow", frozen=True)

    testing: dict[str, str]
    suite: str
    link: str
    seed: int
    complete: bool
    strict: bool = False
    versions: dict[str, str] = {}
    observed: dict[str, dict[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Record:
    """One run."""

    name: str  # the file, or what the run is called in texts
    header: Header
    results: Sequence[Result]

    @property
    def judged_by_dissector(self) -> bool:
        return "dissector" in self.header.versions


def read(path: Path) -> Record:
    """The run of a results.jsonl, or of the report folder that holds one. RecordError."""
    file = path / JSON_LINES if path.is_dir() else path
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise RecordError(f"{file}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise RecordError(f"{file}:{line}: not UTF-8 text") from None
    return _parse(str(file), text)


def of_run(name: str, header: dict[str, Any], results: Sequence[Result]) -> Record:
    """The record that a reader of this run's results.jsonl gets."""
    return _parse(name, json_lines(header, results))


def _parse(name: str, text: str) -> Record:
    rows = _rows(name, text)
    first = next(rows, None)
    if first is None:
        raise RecordError(f"{name}: empty: the run wrote no results, perhaps because it was killed")
    header = _header(name, *first)
    return Record(name, header, [_result(name, line, row) for line, row in rows])


def _rows(name: str, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number and object of each line."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise RecordError(f"{name}:{number}: not JSON: {error.msg} at column {error.colno}") from None
        except (RecursionError, ValueError):
            raise RecordError(f"{name}:{number}: not JSON that can be read") from None
        if not isinstance(row, dict):
            raise RecordError(f"{name}:{number}: must be a JSON object")
        yield number, row


def _header(name: str, line: int, row: dict[str, Any]) -> Header:
    if row.get("kind") != "run":
        raise RecordError(f'{name}:{line}: must be the line of a run (kind "run"), as results.jsonl begins')
    if row.get("layout") != LAYOUT_VERSION:
        shown = printable(repr(row.get("layout")), _WORDS_MAX)
        raise RecordError(f"{name}:{line}: layout {shown}; this command reads layout {LAYOUT_VERSION}")
    try:
        return Header.model_validate(row)
    except ValidationError as error:
        raise RecordError(f"{name}:{line}: {_mistake(error)}") from None


def _result(name: str, line: int, row: dict[str, Any]) -> Result:
    if row.get("kind") != "result":
        raise RecordError(f'{name}:{line}: must be the line of a result (kind "result")')
    label = row.get("verdict")
    if not isinstance(label, str) or label not in VERDICTS_BY_LABEL:
        shown = printable(repr(label), _WORDS_MAX)
        raise RecordError(f"{name}:{line}: verdict: {shown} must be one of {', '.join(VERDICTS_BY_LABEL)}")
    try:
        return _RESULT.validate_python({**_stated(row), "verdict": VERDICTS_BY_LABEL[label]})
    except ValidationError as error:
        raise RecordError(f"{name}:{line}: {_mistake(error)}") from None


def _stated(row: dict[str, Any]) -> dict[str, Any]:
    """Earlier versions of this layout state what was expected and seen in the reason only."""
    if row.get("seen"):
        return row
    expected = {"expected": _UNSTATED} if row["verdict"] in {verdict.label for verdict in AGAINST} else {}
    return {**expected, **row, "seen": row.get("reason", "")}


def _mistake(error: ValidationError) -> str:
    """The first mistake of a line."""
    first = error.errors()[0]
    place = ".".join(str(step) for step in first["loc"])
    if first["type"] in ("missing", "missing_argument"):
        return f"{place}: missing"
    shown = printable(repr(first["input"]), _WORDS_MAX)
    return f"{place}: {shown}: {first['msg'].replace('Input should be', 'must be')}"
