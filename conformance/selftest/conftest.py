# SPDX-License-Identifier: GPL-2.0-or-later
"""What the suite's own tests share: running the command, and what of the build is there."""

from __future__ import annotations

import fcntl
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from netblt_conformance.common import paths
from netblt_conformance.common.verdicts import Result
from netblt_conformance.report.files import JSON_LINES, JUNIT

if TYPE_CHECKING:
    from netblt_conformance.links.sim import SimLinkFactory

CONFORMANCE = Path(__file__).resolve().parents[1]
# Under nohup and in the background of a shell these are ignored, by children too; the tests send them to programs.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.environ["NETBLT_NO_PATH_MEMORY"] = "1"  # no transfer of a test depends on an earlier one
# The same examples in every run of the tests, however long a busy machine takes for them.
settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")
TIME_LIMIT_S = 900  # for what hangs; nothing takes so long, on the busiest machine
sys.path.insert(0, str(CONFORMANCE))  # for `import selftest.…`: pytest adds this folder only, mypy its parent


@dataclass(frozen=True)
class Outcome:
    """One run of netblt-conformance."""

    status: int
    output: str
    errors: str
    report: Path

    @property
    def results(self) -> list[Result]:
        import json

        lines = (self.report / JSON_LINES).read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines[1:]]
        return [Result.from_json({k: v for k, v in row.items() if k != "kind"}) for row in rows]

    @property
    def junit(self) -> str:
        return (self.report / JUNIT).read_text(encoding="utf-8")


class Command:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def __call__(self, *arguments: str, judged: bool = False, **environment: str) -> Outcome:
        """Runs it. `judged`: a run with the plugin's judgement, which costs as much time as a few cases."""
        self._count += 1
        report = self._folder / f"report{self._count}"
        words = list(arguments)
        if words[0] == "run" and "--report" not in words:
            words += ["--report", str(report)]
        if words[0] == "run" and not judged and "--no-dissector" not in words:
            words.append("--no-dissector")
        done = subprocess.run(
            [sys.executable, "-m", "netblt_conformance", *words],
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT_S,
            env={**os.environ, "PYTHONPATH": str(CONFORMANCE), **environment},
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr, report)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first, so that the run does not wait for it at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.fixture(scope="session")
def built_writer() -> None:
    """The compiled module (captures); every run needs it."""
    from netblt_conformance.simlib.build import module_path

    if not module_path().is_file():
        pytest.skip("build/python is not built: run tools/build")


@pytest.fixture(scope="session")
def wire_is_possible(built_writer: None, namespaces: None) -> None:
    """The command `netblt` is there, and may have a network of its own."""
    del built_writer, namespaces
    if not (paths.build() / "bin" / "netblt").is_file():
        pytest.skip("netblt is not built: run tools/build")


@pytest.fixture(scope="session")
def namespaces() -> None:
    """Network namespaces may be made here."""
    probe = subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False)
    if os.geteuid() != 0 and probe.returncode != 0:
        pytest.skip("neither root nor user namespaces here")


@pytest.fixture(scope="session")
def built_library(built_writer: None) -> Path:
    """The reference endpoint as a shared library."""
    del built_writer
    library = paths.iut_library()
    if not library.is_file():
        pytest.skip(f"{library.name} is not built: run tools/build")
    return library


@pytest.fixture(scope="session")
def factory(built_library: Path) -> SimLinkFactory:
    """The sim link to the reference endpoint."""
    from selftest.small_scripts import linked

    return linked(built_library)


Made = TypeVar("Made")


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], Made]) -> Made:
    """What `make` returns for a new folder, made by whichever of pytest's workers asks first and kept for all."""
    worker = "PYTEST_XDIST_WORKER" in os.environ
    folder = factory.getbasetemp().parent if worker else factory.getbasetemp()
    kept = folder / f"{name}.pickle"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.is_file():
            (folder / name).mkdir()
            kept.write_bytes(pickle.dumps(make(folder / name)))
        made: Made = pickle.loads(kept.read_bytes())
    return made


@pytest.fixture(scope="session")
def whole_run(built_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Every case on the reference in virtual time."""
    del built_library
    return made_once(tmp_path_factory, "whole_run", lambda folder: Command(folder)("run", "--no-sweep"))
