# SPDX-License-Identifier: GPL-2.0-or-later
"""Types of options that name files and folders for results. Each is tried while the command line is read, so that no
work is done whose results cannot be stored. The trial leaves nothing."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from netblt_conformance.common.errors import LinkUnavailableError

STDOUT = "-"


def output_file(option: str) -> Callable[[str], Path]:
    """The type of an option whose value is a file."""

    def file(text: str) -> Path:
        try_file(option, text)
        return Path(text)

    return file


def try_file(option: str, text: str) -> None:
    """For a file that may lie in a folder which the command makes: to be called when the folder is there."""
    if text == STDOUT:
        return
    try:
        _try_file(Path(text))
    except (OSError, ValueError) as error:
        raise _unusable(option, text, error, "file") from None


def output_file_or_stdout(option: str) -> Callable[[str], str]:
    """The type of an option whose value is a file, or "-"."""

    def file(text: str) -> str:
        try_file(option, text)
        return text

    return file


def output_folder(option: str) -> Callable[[str], Path]:
    """The type of an option whose value is a folder, which may be missing."""

    def folder(text: str) -> Path:
        path = Path(text)
        try:
            _try_folder(path)
        except (OSError, ValueError) as error:
            raise _unusable(option, text, error, "folder") from None
        return path

    return folder


def _unusable(option: str, text: str, error: OSError | ValueError, what: str) -> LinkUnavailableError:
    why = error.strerror if isinstance(error, OSError) else error
    return LinkUnavailableError(f"{option} {text}: {why}; choose another {what}")


def _try_file(path: Path) -> None:
    if path.is_file() or path.is_dir():
        path.open("ab").close()
    elif not os.path.lexists(path):  # a pipe has readers, which must not see it opened twice
        path.open("xb").close()
        path.unlink()


def _try_folder(path: Path) -> None:
    missing = [one for one in (path, *path.parents) if not one.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    finally:
        with contextlib.suppress(OSError):
            for one in missing:
                one.rmdir()
