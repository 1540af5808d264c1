# SPDX-License-Identifier: BSD-2-Clause
"""Installs a build into a scratch prefix and uses it as other programs do: check_install.py BUILD EXAMPLES VERSION CC.

Every example, in C and in C++, is built four times: with pkg-config and with CMake, against the shared and the static
library, without a warning. Then the examples and the installed command transfer data to one another.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

EXAMPLES = ("pair.c", "pair_cpp.cpp", "serve_memory.c", "udp_receive.c", "udp_send.c")
STRICT = ("-Wall", "-Wextra", "-pedantic", "-Werror")
FILE_BYTES = 3_000_001  # many buffers, the last one not full
RUN_SECONDS = 30


class InstallError(Exception):
    """A sentence for the reader of the test's output."""


def run(*command: str | Path, env: dict[str, str] | None = None) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=120, check=False)
    if done.returncode != 0:
        raise InstallError(f"{' '.join(words)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def free_udp_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Installed:
    """A scratch prefix with netblt in it."""

    def __init__(self, build: Path, scratch: Path, version: str, compiler: str) -> None:
        self.scratch, self.version, self.compiler = scratch, version, compiler
        self.cpp = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), "c++")
        # Installed to one place and moved to another: nothing in it may remember where it was built or installed.
        run("cmake", "--install", build, "--prefix", scratch / "first place")
        for name in (build / "install_manifest.txt").read_text().splitlines():
            if not Path(name).is_relative_to(scratch / "first place"):
                raise InstallError(f"{name} was installed, outside of the prefix")
        self.prefix = scratch / "prefix"
        (scratch / "first place").rename(self.prefix)
        (pc,) = self.prefix.rglob("netblt.pc")
        self.lib = pc.parent.parent
        self.env = os.environ | {"PKG_CONFIG_PATH": str(pc.parent), "LD_LIBRARY_PATH": str(self.lib)}

    def flags(self, *options: str) -> list[str]:
        return run("pkg-config", *options, "netblt", env=self.env).split()

    def with_pkg_config(self, examples: Path, out: Path, *, static: bool) -> None:
        out.mkdir()
        libraries = [self.lib / "libnetblt.a"] if static else self.flags("--libs")
        for name in EXAMPLES:
            source, flags = examples / name, self.flags("--cflags")
            compiler = (self.compiler, "-std=c17") if source.suffix == ".c" else (self.cpp, "-std=c++17")
            run(*compiler, *STRICT, *flags, source, "-o", out / source.stem, *libraries, env=self.env)

    def with_cmake(self, examples: Path, out: Path, *, static: bool) -> Path:
        mode = "ON" if static else "OFF"
        copy = shutil.copytree(examples, out.with_name(out.name + "-source"))  # alone, without this tree around it
        run("cmake", "-S", copy, "-B", out, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DNETBLT_STATIC={mode}", f"-DCMAKE_C_COMPILER={self.compiler}")  # fmt: skip
        run("cmake", "--build", out)
        return out / "examples"


def transfer(receiver: Sequence[str | Path], sender: Sequence[str | Path], env: dict[str, str], port: int) -> None:
    """Runs the passive end first and waits until its socket is open."""
    with subprocess.Popen([str(w) for w in receiver], env=env, stdout=subprocess.DEVNULL) as waiting:
        try:
            wanted = f":{port:04X} "
            for _ in range(500):
                if wanted in Path(f"/proc/{waiting.pid}/net/udp").read_text() or waiting.poll() is not None:
                    break
                subprocess.run(["sleep", "0.01"], check=True)
            run(*sender, env=env)
            if waiting.wait(RUN_SECONDS) != 0:
                raise InstallError(f"{receiver[0]}: exit status {waiting.returncode}")
        finally:
            waiting.kill()


def same(sent: Path, received: Path, what: str) -> None:
    if sent.read_bytes() != received.read_bytes():
        raise InstallError(f"{what}: the received bytes differ")
    received.unlink()


def use(folder: Path, installed: Installed, *, static: bool) -> None:
    """Runs the examples of one folder, against themselves and against the installed command."""
    env = {k: v for k, v in installed.env.items() if not (static and k == "LD_LIBRARY_PATH")}
    command = installed.prefix / "bin" / "netblt"
    sent, received = installed.scratch / "sent", installed.scratch / "received"
    sent.write_bytes(os.urandom(FILE_BYTES))
    run(folder / "pair", "1000000", "50", env=env)
    report = run(folder / "pair_cpp", "1000000", env=env)
    if f"libnetblt {installed.version}: 1000000 bytes arrived whole" not in report:
        raise InstallError(f"pair_cpp: {report}")

    port = free_udp_port()
    there = ("--encap", "udp", "--udp-port", str(port), "--quiet")
    udp_receive, udp_send = (folder / "udp_receive", received, str(port)), folder / "udp_send"
    transfer(udp_receive, (udp_send, sent, "127.0.0.1", str(port)), env, port)
    same(sent, received, "udp_send to udp_receive")
    transfer(udp_receive, (command, "send", sent, "127.0.0.1", *there), env, port)
    same(sent, received, "the command to udp_receive")
    transfer((command, "recv", received, "--passive", *there), (udp_send, sent, "127.0.0.1", str(port)), env, port)
    same(sent, received, "udp_send to the command")

    fetch = (command, "recv", received, "127.0.0.1", *there, "--client-string", "haiku")
    transfer((folder / "serve_memory", str(port), "1"), fetch, env, port)
    if b"burst" not in received.read_bytes():
        raise InstallError("serve_memory served something else")


def check_contents(installed: Installed) -> None:
    names = ("bin/netblt", "include/netblt/netblt.h")
    missing = [name for name in names if not (installed.prefix / name).is_file()]
    missing += [name for name in ("libnetblt.so", "libnetblt.a") if not (installed.lib / name).exists()]
    if missing:
        raise InstallError(f"not installed: {', '.join(missing)}")
    for text in (run(installed.prefix / "bin" / "netblt", "--version"), *installed.flags("--modversion")):
        if installed.version not in text:
            raise InstallError(f"reports {text.strip()}, expected {installed.version}")
    soname = f"libnetblt.so.{installed.version.rpartition('.')[0]}"
    if f"[{soname}]" not in run("readelf", "--dynamic", installed.lib / f"libnetblt.so.{installed.version}"):
        raise InstallError(f"the soname is not {soname}")


def main() -> int:
    build, examples, version, compiler = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]
    with tempfile.TemporaryDirectory(prefix="netblt-install-") as scratch:
        try:
            installed = Installed(build, Path(scratch), version, compiler)
            check_contents(installed)
            for static in (False, True):
                out = Path(scratch) / ("static" if static else "shared")
                installed.with_pkg_config(examples, out, static=static)
                use(out, installed, static=static)
                use(installed.with_cmake(examples, out.with_suffix(".cmake"), static=static), installed, static=static)
        except InstallError as failure:
            print(failure, file=sys.stderr)
            return 1
    print("installed, moved, compiled with pkg-config and CMake, shared and static; every example ran")
    return 0


sys.exit(main())
