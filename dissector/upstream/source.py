# SPDX-License-Identifier: GPL-2.0-or-later
"""Gets Wireshark's source package from the package sources that apt is configured with, and unpacks it.

Only a list of our own gains deb-src entries: one for each configured deb entry. The machine's configuration stays.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

CONFIGURED = Path("/etc/apt")
# fmt: off
NEEDED = ["gcc", "g++", "cmake", "ninja-build", "flex", "perl", "python3", "python3-venv", "git", "dpkg-dev",
          "libglib2.0-dev", "libgcrypt20-dev", "libc-ares-dev", "libpcre2-dev", "libpcap-dev", "zlib1g-dev"]
# fmt: on


class SourceError(Exception):
    """The source package is not to be had; the text states what to do."""


def missing_packages() -> list[str]:
    """Of NEEDED, what is not installed."""
    asked = ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Abbrev}\n", *NEEDED]
    told = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    installed = {line.split()[0] for line in told.splitlines() if line.split()[-1:] == ["ii"]}
    return [name for name in NEEDED if name not in installed]


def source_entries(text: str, deb822: bool) -> str:
    """The configured entries as entries for source packages; comments and other entries are left out."""
    if deb822:
        kind = re.compile(r"^Types:(?:.*[ \t])?deb(?:[ \t].*)?$", re.MULTILINE)
        stanzas = [stanza for stanza in re.split(r"\n\s*\n", text) if kind.search(stanza)]
        return "\n\n".join(kind.sub("Types: deb-src", stanza) for stanza in stanzas) + "\n"
    lines = [line.strip() for line in text.splitlines()]
    return "".join(f"deb-src {line[3:].strip()}\n" for line in lines if re.match(r"deb\s", line))


def write_entries(folder: Path) -> None:
    """One file in `folder` for each configured one."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    listed = [CONFIGURED / "sources.list", *sorted((CONFIGURED / "sources.list.d").glob("*"))]
    for file in listed:
        if file.suffix in (".list", ".sources") and file.is_file():
            text = file.read_text(encoding="utf-8")
            (folder / file.name).write_text(source_entries(text, file.suffix == ".sources"), encoding="utf-8")


def installed_version() -> str | None:
    """The version of the source package that the installed tshark was built from."""
    asked = ["dpkg-query", "-W", "-f", "${source:Version}", "tshark"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False)
    return told.stdout.strip() or None


def download(folder: Path, state: Path, version: str | None) -> Path:
    """The .dsc file of the source package, with what belongs to it beside it."""
    write_entries(state / "sources")
    (state / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    options = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": str(state / "sources"),
        "Dir::State::lists": str(state / "lists"),
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "APT::Sandbox::User": "root",
    }
    apt = ["apt-get", "-q", *(part for name, value in options.items() for part in ("-o", f"{name}={value}"))]
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([*apt, "update"], check=False, stdout=subprocess.DEVNULL)  # one source may lack source packages
    wanted = "wireshark" if version is None else f"wireshark={version}"
    done = subprocess.run([*apt, "--download-only", "source", wanted], cwd=folder, check=False)
    found = sorted(folder.glob("wireshark_*.dsc"))
    if done.returncode != 0 or len(found) != 1:
        raise SourceError(f"apt-get source {wanted} failed: is a source with this version configured in {CONFIGURED}?")
    return found[0]


def unpack(description: Path, target: Path) -> None:
    """Unpacks the package with the distribution's changes. apt has compared the checksums with the signed index."""
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(
        ["dpkg-source", "--no-check", "--extract", str(description), str(target)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    shutil.rmtree(target / ".pc", ignore_errors=True)
