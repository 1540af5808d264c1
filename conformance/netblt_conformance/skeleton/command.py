# SPDX-License-Identifier: GPL-2.0-or-later
"""The command skeleton: copies the first version of an endpoint for the pipe link, or files for CI, to a folder."""

from __future__ import annotations

import argparse
import shutil
from dataclasses import dataclass
from pathlib import Path

from netblt_conformance.common import paths
from netblt_conformance.common.errors import LinkUnavailableError
from netblt_conformance.common.verdicts import ExitCode

ADAPTER = "netblt-adapter.toml"
BUILD = "build.sh"
CI_SCRIPT = ("ci/netblt-ci.sh", "netblt-ci.sh")


@dataclass(frozen=True, slots=True)
class Kind:
    """What is copied: files of the folder `conformance`, each with its name in the new folder."""

    folder: str = ""  # all files of this folder, under their own names
    files: tuple[tuple[str, str], ...] = ()


KINDS = {
    "c": Kind("skeletons/c", (("adapters/pipe_endpoint.c", "pipe_endpoint.c"), ("sim/netblt_iut.h", "netblt_iut.h"))),
    "go": Kind("skeletons/go"),
    "python": Kind("skeletons/python"),
    "rust": Kind("skeletons/rust"),
    "github": Kind(files=(CI_SCRIPT, ("ci/github-actions.yml", ".github/workflows/netblt.yml"))),
    "gitlab": Kind(files=(CI_SCRIPT, ("ci/gitlab-ci.yml", ".gitlab-ci.yml"))),
    "shell": Kind(files=(CI_SCRIPT,)),
}


class SkeletonError(LinkUnavailableError):
    """The folder cannot take the files: exit code 2."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Copies a small endpoint for the pipe link in C, Go, Python or Rust, with its adapter and the command that "
        "compiles it, or files that run the suite in CI (github, gitlab, shell). It overwrites no file."
    )
    parser.add_argument("kind", choices=KINDS, metavar="KIND", help=f"one of {', '.join(KINDS)}")
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the files go; it is made if it is missing")


def copies(kind: Kind) -> dict[str, Path]:
    """The files by their names in the new folder."""
    conformance = paths.root() / "conformance"
    whole = sorted((conformance / kind.folder).glob("*")) if kind.folder else []
    of_folder = {file.name: file for file in whole if file.is_file()}
    return of_folder | {name: conformance / source for source, name in kind.files}


def command_skeleton(options: argparse.Namespace) -> int:
    folder: Path = options.folder
    wanted = copies(KINDS[options.kind])
    if there := [name for name in wanted if (folder / name).exists()]:
        raise SkeletonError(f"{folder} already has {', '.join(there)}: give another folder, or move them away")
    try:
        for name, source in wanted.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, folder / name)
    except OSError as error:
        raise SkeletonError(f"cannot write to {folder}: {error.strerror}; give another folder") from None
    for name in wanted:
        print(folder / name)
    print("Next:")
    for line in next_steps(folder, wanted):
        print(f"  {line}")
    return ExitCode.HOLDS


def next_steps(folder: Path, names: dict[str, Path]) -> list[str]:
    """The commands that a user gives then."""
    if ADAPTER not in names:
        return [f"edit the variables at the top of {folder / next(reversed(names))} (docs/ci.md)"]
    adapter = folder / ADAPTER
    return [
        *([str(folder / BUILD)] if BUILD in names else []),
        f"netblt-conformance doctor --adapter {adapter}",
        f"netblt-conformance run --adapter {adapter} --select must --no-sweep",
    ]
