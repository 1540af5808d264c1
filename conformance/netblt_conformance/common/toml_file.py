# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads TOML files into typed tables (pydantic) and reports every mistake with file, table, key, value and what is
allowed.

A file's layout is a class derived from `Table`; a key of the file is a field, its type states what is allowed:

    class Link(Table):
        rate: Text
        mtu: Annotated[int, Field(ge=576, le=65_535)] = 1500
        rules: Texts = ()

    class File(Table):
        link: dict[str, Link] = {}

    file = read(path, File)  # TomlError: "x.toml: link.ab.mtu: 3 must be from 576 to 65535"

Types are strict: no text passes for a number and no number for a flag. Unknown keys are mistakes, with the known key
that looks like them. What a type cannot express is a pydantic validator that raises ValueError with the reason. The
description of a field (`Field(description=...)`) is shown where the key is missing.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError
from pydantic.fields import FieldInfo
from pydantic.types import Strict
from pydantic_core import ErrorDetails

# Text with something in it, and a list of such texts.
Text = Annotated[str, StringConstraints(pattern=r"\S")]
Texts = Annotated[tuple[Text, ...], Strict(False)]

# An entry of an array of tables is named by the first of these keys that it has, else by its number.
_NAMES = ("id", "name", "case")
_WORDS = {
    "model_type": "must be a table",
    "dict_type": "must be a table",
    "mapping_type": "must be a table",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "frozen_set_type": "must be a list",
    "string_type": "must be a text",
    "string_pattern_mismatch": "must be a text that is not empty",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
}


class Table(BaseModel):
    """A table of a TOML file."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True, populate_by_name=False
    )

    def given(self) -> dict[str, Any]:
        """The keys that are in the file, with their values."""
        return {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}


T = TypeVar("T", bound=Table)


class TomlError(Exception):
    """Every mistake found; the text is one line. `where`: the file."""

    def __init__(self, where: str, mistakes: Sequence[str]) -> None:
        super().__init__(f"{where}: {'; '.join(mistakes)}")
        self.mistakes = [f"{where}: {mistake}" for mistake in mistakes]


def parse(path: Path, name: str = "") -> dict[str, Any]:
    """The document of a file. `name`: of the file in messages; its path when empty."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TomlError(name or str(path), [error.strerror or str(error)]) from None
    except UnicodeDecodeError as error:
        raise TomlError(name or str(path), [f"not UTF-8 text, at byte {error.start}"]) from None
    except tomllib.TOMLDecodeError as error:
        raise TomlError(name or str(path), [str(error)]) from None


def read(path: Path, model: type[T], name: str = "") -> T:
    """The tables of a file."""
    return check(parse(path, name), model, name or str(path))


def check(document: Any, model: type[T], where: str) -> T:
    """The same of a document that was parsed. `where`: the file, or its place in one."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise TomlError(where, [_mistake(one, document, model) for one in error.errors()]) from None


def _mistake(error: ErrorDetails, document: Any, model: type[Table]) -> str:
    loc, value, kind = error["loc"], error["input"], error["type"]
    place = "".join(_steps(loc, document)).removeprefix(".")
    known, field = _known_at(model, loc)
    if kind == "extra_forbidden":
        words = unknown(str(loc[-1]), known)
    elif kind == "missing":
        words = f"missing{f': {field.description}' if field and field.description else ''}"
    elif kind == "value_error":
        words = str(error["ctx"]["error"])
    elif kind in ("greater_than_equal", "less_than_equal") and field and (bounds := _bounds(field)):
        words = f"{value!r} must be {bounds}"
    else:
        shown = "" if isinstance(value, dict) else f"{value!r} "
        words = shown + _WORDS.get(kind, error["msg"].replace("Input should be", "must be"))
    return f"{place}: {words}" if place else words


def unknown(key: str, known: Sequence[str]) -> str:
    """Why a key is a mistake, with the known key that looks like it."""
    near = difflib.get_close_matches(key, known, 1)
    return f"unknown key {key!r}; " + (
        f"did you mean {near[0]!r}?" if near else f"known are {', '.join(sorted(known))}"
    )


def _steps(loc: Sequence[int | str], document: Any) -> Iterator[str]:
    """The steps from the top of the document to a value: ".wire", ".roles", " CTRL-04"."""
    for step in loc:
        if step == "[key]":
            continue
        try:
            document = document[step]
        except (KeyError, IndexError, TypeError):
            document = None
        if isinstance(step, int):
            names = [document[key] for key in _NAMES if isinstance(document, dict) and key in document]
            yield f" {names[0] if names else step + 1}"
        else:
            yield f".{step}"


def _known_at(model: type[Table], loc: Sequence[int | str]) -> tuple[list[str], FieldInfo | None]:
    """The keys of the table that holds the last step, and the field of that step."""
    table: type[Table] | None = model
    known: list[str] = []
    field: FieldInfo | None = None
    in_mapping = False
    for step in loc:
        if in_mapping or not isinstance(step, str):
            in_mapping = False
            continue
        if table is None:
            break
        fields = {one.alias or name: one for name, one in table.model_fields.items()}
        known, field = list(fields), fields.get(step)
        table = _table_in(field.annotation) if field else None
        in_mapping = field is not None and get_origin(field.annotation) is dict
    return known, field


def _table_in(annotation: Any) -> type[Table] | None:
    """The class of tables that a type is made of: Table, list[Table], Table | None."""
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return annotation
    return next((found for one in get_args(annotation) if (found := _table_in(one))), None)


def _bounds(field: FieldInfo) -> str:
    """ "from 1 to 9" """
    limits = {name: getattr(one, name) for one in field.metadata for name in ("ge", "le") if hasattr(one, name)}
    return f"from {limits['ge']} to {limits['le']}" if len(limits) == 2 else ""
