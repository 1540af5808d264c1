#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds an implementation under test from a copy of the core's sources, for mutants:

    conformance/sim/build_iut.py SRC_DIR OUT.so [--sanitize]

SRC_DIR holds the core's .c and .h files in its folders, like reference_impl/core. What it does is

    cc -std=gnu17 -O1 -fPIC -shared -Wl,-Bsymbolic -I reference_impl/include -I conformance/sim -I SRC_DIR \\
       SRC_DIR/**/*.c conformance/sim/reference_iut.c -o OUT.so

with one compiler process for each source. Objects are kept in a cache beside OUT.so, by their content after
preprocessing, so that a mutant costs the compilation of what it changes. Exit status: 0 built, 1 the sources do not
compile, 2 wrong call.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

SIM = Path(__file__).resolve().parent
INCLUDE = SIM.parents[1] / "reference_impl" / "include"
# A mutant may leave an unused variable; one that calls or converts what it does not know is another mutant.
_ERRORS = ["implicit-function-declaration", "incompatible-pointer-types", "int-conversion"]
_FLAGS = ["-std=gnu17", "-fPIC", "-ffp-contract=off", *(f"-Werror={error}" for error in _ERRORS)]
_OPTIMIZED, _QUICK = ["-O1", "-g1"], ["-O0"]
_SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]


class CompileError(Exception):
    """The compiler's words."""


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise CompileError(f"there is no C compiler {command[0]!r}: run tools/setup, or set CC") from None
    if done.returncode:
        raise CompileError(f"{shlex.join(command)}\n{done.stderr}")
    return done.stdout


def _object(command: list[str], core: Path, source: Path, cache: Path) -> Path:
    """The object file of a source, from the cache when an equal translation unit was compiled before."""
    include = f"-I{core}"  # no part of the digest: equal sources in another folder are equal
    # Line markers would make equal code in another folder look different; -P leaves them out.
    text = _run([*command, include, "-E", "-P", str(source)])
    digest = hashlib.sha256("\0".join([*command, text]).encode()).hexdigest()
    result = cache / f"{source.stem}-{digest[:24]}.o"
    if not result.is_file():
        with tempfile.NamedTemporaryFile(dir=cache, suffix=".o", delete=False) as fresh:
            temporary = Path(fresh.name)
        try:
            _run([*command, include, "-c", str(source), "-o", str(temporary)])
            temporary.replace(result)
        finally:
            temporary.unlink(missing_ok=True)
    return result


def _command(sanitize: bool, quick: bool = False) -> list[str]:
    compiler = shlex.split(os.environ.get("CC", "cc"))
    flags = [*_FLAGS, *(_QUICK if quick else _OPTIMIZED), *(_SANITIZE if sanitize else [])]
    return [*compiler, *flags, f"-I{INCLUDE}", f"-I{SIM}"]


def compile_sources(
    core: Path, sources: list[Path], cache: Path, *, sanitize: bool = False, quick: bool = False
) -> dict[str, Path]:
    """The object of each source, by the source's name. Sources include headers by their path in `core`. CompileError
    when one does not compile. `quick`: what takes the least time to build, for code that runs for milliseconds."""
    cache.mkdir(parents=True, exist_ok=True)
    command = _command(sanitize, quick)
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
        objects = pool.map(lambda source: _object(command, core, source, cache), sources)
        return {source.name: built for source, built in zip(sources, objects, strict=True)}


def link_iut(objects: list[Path], output: Path, *, sanitize: bool = False) -> None:
    """Makes `output` of the objects of the core and of reference_iut.c."""
    temporary = output.with_name(f".{output.name}.{os.getpid()}")
    link = [*_command(sanitize), "-shared", "-Wl,-Bsymbolic", "-Wl,-z,defs", *map(str, objects), "-lm"]
    if sanitize:
        link.remove("-Wl,-z,defs")  # the sanitizers' runtime comes from the program (LD_PRELOAD)
    try:
        _run([*link, "-o", str(temporary)])
        temporary.replace(output)
    finally:
        temporary.unlink(missing_ok=True)


def sources_of(source_directory: Path) -> list[Path]:
    """Everything that an implementation under test is compiled from. CompileError when the folder holds no sources."""
    sources = sorted(source_directory.rglob("*.c"), key=lambda source: source.name)
    if not sources:
        raise CompileError(f"{source_directory} holds no .c files")
    return [*sources, SIM / "reference_iut.c"]


def build_iut(source_directory: Path, output: Path, *, sanitize: bool = False, cache: Path | None = None) -> None:
    """Builds `output`. CompileError when the sources do not compile."""
    store = cache or output.parent / ".objects"
    objects = compile_sources(source_directory, sources_of(source_directory), store, sanitize=sanitize)
    link_iut(list(objects.values()), output, sanitize=sanitize)


def main() -> int:
    parser = argparse.ArgumentParser(description="Builds an implementation under test from core sources.")
    parser.add_argument(
        "source", type=Path, metavar="SRC_DIR", help="folder with the core's .c and .h files, in folders"
    )
    parser.add_argument("output", type=Path, metavar="OUT.so")
    parser.add_argument("--sanitize", action="store_true", help="with ASan and UBSan; the process needs LD_PRELOAD")
    parser.add_argument("--cache", type=Path, help="folder for object files (default: .objects beside OUT.so)")
    options = parser.parse_args()
    if not options.source.is_dir():
        print(f"error: {options.source} is not a folder", file=sys.stderr)
        return 2
    try:
        build_iut(options.source, options.output, sanitize=options.sanitize, cache=options.cache)
    except CompileError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
