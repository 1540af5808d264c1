# SPDX-License-Identifier: GPL-2.0-or-later
"""The plugin built with AddressSanitizer and UndefinedBehaviorSanitizer, for tests that look for crashes."""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path

from dissector.tests.reader import ROOT

# Freed memory is overwritten, and what Wireshark would only log stops it.
STRICT = {"WIRESHARK_DEBUG_WMEM_OVERRIDE": "strict", "WIRESHARK_ABORT_ON_DISSECTOR_BUG": "1"}


def build() -> Path:
    """The plugin folder; NETBLT_PLUGIN_ASAN names one that exists already."""
    if "NETBLT_PLUGIN_ASAN" in os.environ:
        return Path(os.environ["NETBLT_PLUGIN_ASAN"])
    folder = ROOT / "build-asan-dissector"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        options = ["-G", "Ninja", "-DNETBLT_SANITIZE=ON", "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
        configure = ["cmake", "-S", str(ROOT / "dissector"), "-B", str(folder), *options]
        for command in (configure, ["cmake", "--build", str(folder), "-j2"]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder / "plugins"


def environment() -> dict[str, str]:
    """For a Wireshark program that was not built with the sanitizers itself."""
    libraries = []
    for name in ("libasan.so", "libubsan.so"):
        found = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=False)
        libraries.append(os.path.realpath(found.stdout.strip()))
    return {
        **STRICT,
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0",  # Wireshark keeps much until its end
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def complaints(stderr: str) -> list[str]:
    """What sanitizers, GLib and Wireshark print about a bug."""
    words = (
        *("ERROR: AddressSanitizer", "runtime error:", "issector bug", "ERROR **", "-CRITICAL", "-WARNING"),
        *("[Epan CRITICAL]", "[Epan WARNING]", "GLib CRITICAL", "GLib WARNING"),
    )
    return [line for line in stderr.splitlines() if any(word in line for word in words)]
