# SPDX-License-Identifier: BSD-2-Clause
"""Builds the library inside another CMake project, by add_subdirectory(): check_subdirectory.py SOURCE CC.

The other project asks for warnings that this one does not avoid. They must not end its build, and it must get the
library alone: no command, no plugin, no tests.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES C)
add_subdirectory({source} netblt)
add_executable(pair {source}/reference_impl/examples/pair.c)
target_link_libraries(pair PRIVATE netblt::netblt)
"""
WARNING = "-Wpadded"  # a struct has a hole: our structs do


def run(*command: str | Path) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: exit status {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def main(source: str, compiler: str) -> None:
    with tempfile.TemporaryDirectory(prefix="netblt-subdirectory-") as name:
        folder = Path(name)
        (folder / "CMakeLists.txt").write_text(PROJECT.format(source=source))
        build = folder / "build"
        run("cmake", "-S", folder, "-B", build, "-G", "Ninja", f"-DCMAKE_C_COMPILER={compiler}",
            f"-DCMAKE_C_FLAGS={WARNING}")  # fmt: skip
        if WARNING not in run("cmake", "--build", build):
            sys.exit(f"nothing was warned of: {WARNING} is no test of what a warning does")
        made = {path.name for path in build.rglob("*") if path.is_file() and path.stat().st_mode & 0o111}
        programs = sorted(program for program in made if "." not in program)
        if programs != ["pair"]:
            sys.exit(f"programs were built that the other project did not ask for: {programs}")
        run(build / "pair", "100000", "10")


if __name__ == "__main__":
    main(*sys.argv[1:])
