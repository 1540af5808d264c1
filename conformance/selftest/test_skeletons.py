# SPDX-License-Identifier: GPL-2.0-or-later
"""The command skeleton, and the skeletons in Python and C (conformance/nightly/skeletons.py has the others too)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from netblt_conformance.commands.cli import main
from netblt_conformance.skeleton.command import KINDS
from selftest.conftest import Command

ADAPTER = "netblt-adapter.toml"


def copied(kind: str, folder: Path) -> list[str]:
    assert main(["skeleton", kind, str(folder)]) == 0
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize("kind", ["c", "python"])
def test_a_new_endpoint_refuses_each_open_and_the_report_states_what_to_do(
    kind: str, tmp_path: Path, command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    copied(kind, tmp_path)
    next_steps = capsys.readouterr().out.partition("Next:\n")[2]
    assert f"netblt-conformance doctor --adapter {tmp_path / ADAPTER}\n" in next_steps
    if kind == "c":
        if shutil.which("cc") is None:
            pytest.skip("no C compiler")
        assert next_steps.split()[0] == str(tmp_path / "build.sh")
        built = subprocess.run([tmp_path / "build.sh"], capture_output=True, text=True, timeout=60, check=False)
        assert (built.returncode, built.stderr) == (0, "")

    options = ("--select", "two packets", "--no-sweep", "--no-dissector")
    done = command("run", "--adapter", str(tmp_path / ADAPTER), *options)
    assert done.status == 1
    assert "REFUSED('not implemented yet'); expected: RESPONSE to OPEN" in " ".join(done.output.split())
    assert f"netblt-conformance doctor --adapter {tmp_path / ADAPTER}\n" in done.output
    verdicts = {result.role: result.verdict.label for result in done.results}
    assert verdicts.pop("passive-receiver") == "FAIL"
    assert set(verdicts.values()) == {"N/A"}, "what the skeleton lacks it reports as unsupported"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_copied_whole_and_only_what_its_files_need(kind: str, tmp_path: Path) -> None:
    names = copied(kind, tmp_path / "new")
    assert "netblt-ci.sh" in names or ADAPTER in names
    assert all((tmp_path / "new" / name).stat().st_size > 0 for name in names)
    assert (ADAPTER in names) == (kind in ("c", "go", "python", "rust"))


def test_the_skeleton_in_c_includes_and_compiles_only_files_that_are_copied(tmp_path: Path) -> None:
    names = copied("c", tmp_path)
    build = (tmp_path / "build.sh").read_text(encoding="utf-8")
    assert {word for word in build.split() if word.endswith(".c")} == {name for name in names if name.endswith(".c")}


def test_no_file_of_the_user_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "endpoint.go").write_text("mine", encoding="utf-8")
    assert main(["skeleton", "go", str(tmp_path)]) == 2
    assert f"{tmp_path} already has endpoint.go: give another folder" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["endpoint.go"]
    assert (tmp_path / "endpoint.go").read_text(encoding="utf-8") == "mine"


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["skeleton", "rust", str(tmp_path / "file" / "below")]) == 2
    assert "give another folder" in capsys.readouterr().err
