# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the module `_netblt_sim` (cffi, API mode): python -m netblt_conformance.simlib.build

The result lies in build/python/ of the source tree (or of $NETBLT_BUILD) and is made again only when one of its
inputs has changed.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import io
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import cffi

from netblt_conformance.common import paths

FLAKEWAY = paths.root() / "conformance" / "flakeway"
SIM = paths.sim_sources()

_SOURCES = [
    # The engine: all but the relay, which is a program around it.
    *sorted(source for source in FLAKEWAY.glob("*.c") if not source.name.startswith("relay")),
    SIM / "iut_library.c",
    SIM / "pair.c",
]
# In this order: each one's types are known to the next.
_HEADERS = [
    FLAKEWAY / "flakeway.h",
    FLAKEWAY / "pcapng.h",
    FLAKEWAY / "ipv4.h",
    SIM / "netblt_iut.h",
    SIM / "iut_library.h",
    SIM / "pair.h",
]
_FLAGS = ["-std=gnu17", "-O2", "-ffp-contract=off", "-g", "-fPIC", "-shared", "-fvisibility=hidden", "-Wl,-Bsymbolic"]

_CALLBACKS = """
extern "Python" void netblt_sim_trace(void *context, const flakeway_event *event);
extern "Python" bool netblt_sim_hook(void *context, uint32_t rule, enum flakeway_direction direction,
                                     const uint8_t *netblt, size_t netblt_length, uint64_t now_us,
                                     flakeway_action *action);
"""


class BuildError(Exception):
    """The module cannot be built; the message states what to do."""


def build_directory() -> Path:
    """Where built things lie: $NETBLT_BUILD, else build/ in the source tree."""
    return paths.build()


def module_path(directory: Path | None = None) -> Path:
    """Where the module lies, or will lie, for this Python."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    return (directory or build_directory() / "python") / f"_netblt_sim{suffix}"


def _declarations(header: Path) -> str:
    """What cffi shall know of a header: all of it but preprocessor lines, of which constants stay."""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
    kept = []
    for line in text.splitlines():
        if not line.startswith("#"):
            kept.append(line)
        elif constant := re.match(r"#define (\w+) +(\w+)", line):
            value = constant[2] if constant[2].isdecimal() else "..."  # cffi asks the compiler for the others
            kept.append(f"#define {constant[1]} {value}")
    # Prototypes of the ABI are types here: the functions come from the loaded library.
    joined = "\n".join(kept)
    if header.name == "netblt_iut.h":
        joined = re.sub(r"^[\w \*]+netblt_iut_\w+\([^;]*\);", "", joined, flags=re.MULTILINE)
    if header.name == "pcapng.h":
        joined = re.sub(r"\bFILE \*file", "void *file", joined)
    return joined


def _write_c_source(c_file: Path) -> None:
    ffi = cffi.FFI()
    ffi.cdef("\n".join(map(_declarations, _HEADERS)) + _CALLBACKS)
    ffi.set_source("_netblt_sim", "\n".join(f'#include "{header.name}"' for header in _HEADERS))
    with contextlib.redirect_stdout(io.StringIO()):  # cffi talks
        ffi.emit_c_code(str(c_file))


def _compiler() -> list[str]:
    return shlex.split(os.environ.get("CC", "cc"))


def _fingerprint() -> str:
    digest = hashlib.sha256(repr((_compiler(), _FLAGS, sys.version)).encode())
    inputs = {*_SOURCES, *FLAKEWAY.glob("*.h"), *SIM.glob("*.h"), Path(__file__)}
    for path in sorted(inputs):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _compile(c_file: Path, output: Path) -> None:
    include = sysconfig.get_path("include")
    command = [*_compiler(), *_FLAGS, f"-I{include}", f"-I{FLAKEWAY}", f"-I{SIM}", str(c_file)]
    command += [*map(str, _SOURCES), "-ldl", "-o", str(output)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise BuildError(f"there is no C compiler {command[0]!r}: run tools/setup, or set CC") from None
    if done.returncode:
        hint = " (the package python3-dev is missing: run tools/setup)" if "Python.h" in done.stderr else ""
        raise BuildError(f"compiling _netblt_sim failed{hint}:\n{done.stderr}")


def build(directory: Path | None = None) -> bool:
    """Builds the module into `directory`. False when it was up to date."""
    module = module_path(directory)
    stamp = module.with_suffix(".stamp")
    module.parent.mkdir(parents=True, exist_ok=True)
    with (module.parent / ".netblt_sim.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several pytest workers may want it at a time
        fingerprint = _fingerprint()
        if module.is_file() and stamp.is_file() and stamp.read_text() == fingerprint:
            return False
        c_file = module.parent / "_netblt_sim.c"
        _write_c_source(c_file)
        fresh = module.with_suffix(".new")
        _compile(c_file, fresh)
        fresh.replace(module)  # a new file: processes that run keep the old one
        stamp.write_text(fingerprint)
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m netblt_conformance.simlib.build", description="Builds _netblt_sim."
    )
    parser.add_argument("--output", type=Path, help="folder for the module (default: build/python)")
    options = parser.parse_args(arguments)
    try:
        built = build(options.output)
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{module_path(options.output)}: {'built' if built else 'up to date'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
