# SPDX-License-Identifier: GPL-2.0-or-later
"""A run tests what was named: the link follows from the adapter, and what would test something else is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from netblt_conformance.adapter.adapter import AdapterError
from netblt_conformance.common import paths
from netblt_conformance.run import target
from selftest.conftest import Command

PIPE = '[pipe]\ncommand = ["/bin/false"]\n'
WIRE = '[wire.roles.active-sender]\ncommand = ["/bin/false"]\n'
REMOTE = '[remote]\naddress = "127.0.0.1"\n[remote.roles.passive-sender]\nport = 1\n'


def adapter(folder: Path, text: str, name: str = "mine") -> Path:
    file = folder / "mine.toml"
    file.write_text(f'name = "{name}"\n{text}', encoding="utf-8")
    return file


@pytest.mark.parametrize(("text", "link"), [(PIPE, "pipe"), (WIRE, "wire"), (REMOTE, "wire")])
def test_the_link_follows_from_the_adapter(tmp_path: Path, text: str, link: str) -> None:
    chosen = target.choose(None, adapter(tmp_path, text), None)
    assert chosen.link == link
    assert chosen.adapter is not None
    assert chosen.adapter.name == "mine"
    assert target.choose(link, adapter(tmp_path, text), None).link == link


@pytest.mark.parametrize(
    ("text", "link", "hint"),
    [
        (WIRE, "sim", "give --link wire"),
        (WIRE, "pipe", "give --link wire"),
        (PIPE, "sim", "give --link pipe"),
        (PIPE, "wire", "give --link pipe"),
        (PIPE + WIRE, None, "--link pipe or --link wire"),
        (PIPE + WIRE, "sim", "--link pipe or --link wire"),
        ("", None, "neither"),
    ],
)
def test_a_link_that_the_adapter_does_not_describe_is_refused(
    tmp_path: Path, text: str, link: str | None, hint: str
) -> None:
    with pytest.raises(target.TargetError, match=hint):
        target.choose(link, adapter(tmp_path, text), None)


@pytest.mark.parametrize("link", ["pipe", "wire"])
def test_a_library_is_tested_over_sim_or_not_at_all(link: str) -> None:
    library = Path("/no/such.so")
    assert target.choose(None, None, library) == target.Target("sim", library=library)
    with pytest.raises(target.TargetError, match="--iut-library is for --link sim"):
        target.choose(link, None, library)


def test_two_implementations_at_a_time_are_refused(tmp_path: Path) -> None:
    with pytest.raises(target.TargetError, match="give one of them"):
        target.choose(None, adapter(tmp_path, WIRE), Path("x.so"))


def test_the_pipe_link_needs_a_program() -> None:
    with pytest.raises(target.TargetError, match="needs --adapter FILE"):
        target.choose("pipe", None, None)


def test_a_run_that_would_test_something_else_ends_with_2_and_one_line(command: Command, tmp_path: Path) -> None:
    file = str(adapter(tmp_path, WIRE))
    for words in (
        ["--adapter", file, "--link", "sim"],
        ["--iut-library", "/no/such.so", "--link", "pipe"],
        ["--sweep-random", "3", "--link", "wire"],
        ["--delay-ms", "3", "--link", "wire"],
    ):
        done = command("run", *words, "--select", "CTRL-01")
        assert done.status == 2
        assert len(done.errors.splitlines()) == 1
        assert "--link" in done.errors
        assert not done.output


@pytest.mark.usefixtures("built_library")
def test_each_result_begins_with_what_is_tested(command: Command) -> None:
    done = command("run", "--select", "CTRL-01", "--role", "passive-receiver", "--no-dissector")
    first = done.output.splitlines()[0]
    assert first.startswith("testing: netblt reference endpoint; library ")
    assert first.endswith("; link sim")
    header = json.loads((done.report / "results.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert header["testing"] == {
        "name": "netblt reference endpoint",
        "library": str(paths.iut_library()),
        "link": "sim",
    }
    assert '<property name="testing.name" value="netblt reference endpoint"' in done.junit
    assert "<h1>netblt reference endpoint" in (done.report / "report.html").read_text(encoding="utf-8")


def test_the_version_is_the_first_line_that_the_program_prints(tmp_path: Path) -> None:
    def version(command: str) -> str:
        chosen = target.choose(None, adapter(tmp_path, f"version_command = {command}\n{WIRE}"), None)
        assert chosen.adapter is not None
        return chosen.adapter.version()

    assert version('["/bin/echo", "mine 7.1"]') == "mine 7.1"
    assert version('["/bin/sh", "-c", "printf \'a\\\\033[31mb\\nc\\n\'"]') == "a\\u001b[31mb"
    assert version('["/bin/false"]') == ""
    assert version('["/no/such/program"]') == ""


def test_the_folder_of_the_adapter_does_not_depend_on_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter(tmp_path, '[pipe]\ncommand = ["{adapter_dir}/mine"]\n')
    monkeypatch.chdir(tmp_path)
    chosen = target.choose(None, Path("mine.toml"), None)
    assert chosen.adapter is not None
    assert chosen.adapter.pipe_command() == [str(tmp_path.resolve() / "mine")]


def test_a_misspelt_key_is_named_with_the_right_one(tmp_path: Path) -> None:
    for text in (
        '[pipe]\ncomand = ["x"]\n',
        '[wire.roles.active-sender]\ncomand = ["x"]\n',
    ):
        with pytest.raises(AdapterError, match="unknown key 'comand'; did you mean 'command'"):
            target.choose(None, adapter(tmp_path, text), None)


@pytest.mark.usefixtures("built_writer")
def test_a_role_that_the_adapter_does_not_describe_has_no_failed_first_transfer(
    command: Command, tmp_path: Path
) -> None:
    file = adapter(tmp_path, WIRE)
    words = ["--role", "active-sender", "--role", "active-receiver"]
    done = command("run", "--adapter", str(file), "--select", "OPEN-01", *words, "--no-dissector")
    failed = [line for line in done.output.splitlines() if line.startswith("first transfer failed")]
    assert len(failed) == 1
    assert "(active-sender)" in failed[0]
