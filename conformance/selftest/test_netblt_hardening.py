# SPDX-License-Identifier: GPL-2.0-or-later
"""The built command is hardened: what its ELF file shows, whatever options the compiler was given."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess

import pytest
from selftest.netblt_command_lab import NETBLT

CACHE = NETBLT.parent.parent / "CMakeCache.txt"


@pytest.fixture(autouse=True)
def _hardened_build() -> None:
    if shutil.which("readelf") is None:
        pytest.skip("readelf (binutils) is not installed")
    cache = CACHE.read_text() if CACHE.is_file() else ""
    for option, reason in (
        ("NETBLT_HARDEN:BOOL=OFF", "was built without"),
        ("NETBLT_SANITIZE:BOOL=ON", "sanitizers instead"),
    ):
        if option in cache:
            pytest.skip(f"{option}: {reason}")


def readelf(option: str) -> str:
    done = subprocess.run(
        ["readelf", "-W", option, str(NETBLT)], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout


def imported() -> set[str]:
    """Names of what it takes from libraries."""
    return set(re.findall(r"UND (\w+)", readelf("--dyn-syms")))


def test_it_is_position_independent() -> None:
    assert re.search(r"Type:\s+DYN", readelf("--file-header"))
    assert re.search(r"FLAGS_1.*\bPIE\b", readelf("--dynamic"))


def test_relocations_are_read_only_before_it_runs() -> None:
    assert "GNU_RELRO" in readelf("--program-headers")
    assert re.search(r"\(FLAGS\).*BIND_NOW|FLAGS_1.*\bNOW\b", readelf("--dynamic"))


def test_neither_stack_nor_data_can_be_executed() -> None:
    headers = re.findall(r"^\s+(\w+)\s+(?:0x\w+\s+){5}([RWE ]{3})", readelf("--program-headers"), re.MULTILINE)
    stack = [flags for kind, flags in headers if kind == "GNU_STACK"]
    assert stack == ["RW "]
    assert [flags for kind, flags in headers if kind == "LOAD" and "W" in flags and "E" in flags] == []
    assert any(kind == "LOAD" and "E" in flags for kind, flags in headers), "the headers were read at all"


def test_overwritten_stacks_are_noticed() -> None:
    assert "__stack_chk_fail" in imported()


def test_lengths_are_checked_where_the_compiler_knows_the_room() -> None:
    checked = {name for name in imported() if name.startswith("__") and name.endswith("_chk")}
    assert {"__snprintf_chk", "__memcpy_chk"} <= checked


@pytest.mark.skipif(platform.machine() != "x86_64", reason="endbr64 is of x86-64")
def test_functions_begin_where_control_flow_protection_lets_them() -> None:
    if shutil.which("objdump") is None:
        pytest.skip("objdump (binutils) is not installed")
    done = subprocess.run(
        ["objdump", "-d", "--section=.text", str(NETBLT)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.count("endbr64") > 100, "one at each function whose address is taken, or that is not static"
