# SPDX-License-Identifier: GPL-2.0-or-later
"""The C style that clang-format cannot check (docs/architecture.md): no blank line within a function."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def blank_lines(text: str) -> Iterator[int]:
    """Numbers of the blank lines between the lines "{" and "}" that enclose a function."""
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        if line in ("{", "}"):
            inside = line == "{"
        elif inside and not line.strip():
            yield number


def test_no_function_has_a_blank_line() -> None:
    files = [
        file
        for folder in ("reference_impl", "conformance")
        for file in (REPOSITORY / folder).rglob("*.[ch]")
        if "third_party" not in file.parts
    ]
    assert len(files) > 200
    found = [
        f"{file.relative_to(REPOSITORY)}:{number}"
        for file in sorted(files)
        for number in blank_lines(file.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_a_blank_line_in_a_function_is_found() -> None:
    assert list(blank_lines("int x;\n\nint f(void)\n{\n    int a = 1;\n\n    return a;\n}\n\nint y;\n")) == [6]


def test_clang_format_removes_braces_but_in_the_dissector() -> None:
    formatter = REPOSITORY / ".venv" / "bin" / "clang-format"
    if not formatter.is_file():
        pytest.skip("tools/setup has not run")
    code = "void f(int a)\n{\n    if (a) {\n        g();\n    }\n}\n"

    def formatted(folder: str) -> str:
        command = [str(formatter), f"--assume-filename={REPOSITORY / folder / 'x.c'}"]
        done = subprocess.run(command, input=code, capture_output=True, text=True, check=True, timeout=60)
        return str(done.stdout)

    assert formatted("conformance/flakeway") == "void f(int a)\n{\n    if (a)\n        g();\n}\n"
    assert formatted("dissector/src") == code
