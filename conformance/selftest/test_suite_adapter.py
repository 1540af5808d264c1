# SPDX-License-Identifier: GPL-2.0-or-later
"""Adapters: the shipped ones load, mistakes are named with file and key."""

from __future__ import annotations

from pathlib import Path

import pytest
from netblt_conformance import adapter, paths
from netblt_conformance.model import ACTIVE_SENDER, ALL_ROLES

GOOD = """
name = "example"
[wire.roles.active-sender]
command = ["prog", "{file_in}", "{peer_address}", "{data_checksum}"]
"""


@pytest.mark.parametrize("path", sorted(paths.adapters().glob("*.toml")), ids=lambda path: path.stem)
def test_a_shipped_adapter_loads(path: Path) -> None:
    assert adapter.load(path).name


def test_the_reference_adapter_describes_every_role() -> None:
    assert set(adapter.load(paths.adapters() / "reference.toml").roles) == set(ALL_ROLES)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "missing key 'name'"),
        ('name = "x"\ncolour = 1\n', "unknown key 'colour'"),
        ('name = "x"\n[wire]\ntempo = 1\n', "unknown key 'tempo'"),
        ('name = "x"\n[wire]\nquit_signal = "SIGFOO"\n', "'SIGFOO' is no signal"),
        ('name = "x"\n[wire.roles.sender]\ncommand = "a"\n', "unknown role 'sender'"),
        (GOOD.replace("{peer_address}", "{peer}"), "unknown placeholder {peer}"),
        (GOOD.replace("{peer_address}", "{peer"), "expected '}'"),
        ('name = "x"\n[pipe]\n', "a command is a string or a list of strings"),
        ('name = "x"\n[pipe\n', "x.toml"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(adapter.AdapterError, match=complaint) as caught:
        adapter.load(path)
    assert "x.toml" in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(adapter.AdapterError, match="No such file"):
        adapter.load(tmp_path / "none.toml")


@pytest.mark.parametrize(("on", "last"), [("1", ["--sum"]), ("", [])])
def test_placeholders_are_filled(tmp_path: Path, on: str, last: list[str]) -> None:
    path = tmp_path / "x.toml"
    path.write_text(GOOD.replace("[wire.roles", '[wire]\ndata_checksum_on = ["--sum"]\n[wire.roles'), encoding="utf-8")
    loaded = adapter.load(path)
    values = {"file_in": "/tmp/in", "peer_address": "192.0.2.1", "data_checksum": on}
    assert loaded.expand(loaded.roles[ACTIVE_SENDER], values) == ["prog", "/tmp/in", "192.0.2.1", *last]
