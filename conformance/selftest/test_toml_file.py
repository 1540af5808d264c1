# SPDX-License-Identifier: GPL-2.0-or-later
"""TOML files as typed tables: every mistake is named with its place, its value and what is allowed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
from netblt_conformance.common import toml_file
from netblt_conformance.common.toml_file import Table, Text, Texts, TomlError
from pydantic import Field
from pydantic.types import Strict


class Link(Table):
    rate: Text
    mtu: Annotated[int, Field(ge=576, le=65_535)] = 1500
    share: float = 0.0
    lossy: bool = False
    rules: Texts = ()


class File(Table):
    title: Text = Field(description="what the file is about")
    link: dict[str, Link] = Field(default_factory=dict)
    entry: Annotated[tuple[Link, ...], Strict(False)] = ()


def read(folder: Path, text: str) -> File:
    path = folder / "x.toml"
    path.write_text(text, encoding="utf-8")
    return toml_file.read(path, File, "x.toml")


def test_a_file_becomes_tables(tmp_path: Path) -> None:
    file = read(tmp_path, 'title = "a"\n[link.ab]\nrate = "1Mbit"\nrules = ["x", "y"]\nshare = 1\n')
    assert (file.title, file.link["ab"].rules, file.link["ab"].mtu, file.link["ab"].share) == ("a", ("x", "y"), 1500, 1)
    assert file.link["ab"].given() == {"rate": "1Mbit", "rules": ("x", "y"), "share": 1}


@pytest.mark.parametrize(
    ("text", "mistakes"),
    [
        ("", ["x.toml: title: missing: what the file is about"]),
        ('title = " "', ["x.toml: title: ' ' must be a text that is not empty"]),
        ('title = "a"\nlink = 3', ["x.toml: link: 3 must be a table"]),
        ('title = "a"\nentry = 3', ["x.toml: entry: 3 must be a list"]),
        ('title = "a"\n[link.ab]\nrate = 3', ["x.toml: link.ab.rate: 3 must be a text"]),
        ('title = "a"\n[link.ab]\nrate = "r"\nmtu = 3', ["x.toml: link.ab.mtu: 3 must be from 576 to 65535"]),
        ('title = "a"\n[link.ab]\nrate = "r"\nmtu = 1.5', ["x.toml: link.ab.mtu: 1.5 must be a whole number"]),
        ('title = "a"\n[link.ab]\nrate = "r"\nmtu = true', ["x.toml: link.ab.mtu: True must be a whole number"]),
        ('title = "a"\n[link.ab]\nrate = "r"\nshare = true', ["x.toml: link.ab.share: True must be a number"]),
        ('title = "a"\n[link.ab]\nrate = "r"\nlossy = 1', ["x.toml: link.ab.lossy: 1 must be true or false"]),
        ('title = "a"\n[link.ab]\nrate = "r"\nrules = ["x", 1]', ["x.toml: link.ab.rules 2: 1 must be a text"]),
        (
            'titel = "a"\n[[entry]]\nrate = "r"\n[[entry]]\nqwert = 1',
            [
                "x.toml: title: missing: what the file is about",
                "x.toml: entry 2.rate: missing",
                "x.toml: entry 2.qwert: unknown key 'qwert'; known are lossy, mtu, rate, rules, share",
                "x.toml: titel: unknown key 'titel'; did you mean 'title'?",
            ],
        ),
    ],
)
def test_every_mistake_is_named(text: str, mistakes: list[str], tmp_path: Path) -> None:
    with pytest.raises(TomlError) as caught:
        read(tmp_path, text)
    assert caught.value.mistakes == mistakes
    assert "\n" not in str(caught.value)
    assert str(caught.value).count("x.toml") == 1


def test_what_is_no_toml_is_named(tmp_path: Path) -> None:
    with pytest.raises(TomlError, match=r"^x\.toml: .*at end of document"):
        read(tmp_path, "[link")
    with pytest.raises(TomlError, match=r"none\.toml: No such file"):
        toml_file.read(tmp_path / "none.toml", File)
    (tmp_path / "x.toml").write_bytes(b"\xff")
    with pytest.raises(TomlError, match=r"^x\.toml: not UTF-8 text, at byte 0$"):
        toml_file.read(tmp_path / "x.toml", File, "x.toml")
