# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs tshark and sharkd with the plugin and without a user's settings, and reads what they print."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netblt_conformance.common import nobody

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = Path(os.environ.get("NETBLT_PLUGIN_DIR", ROOT / "build" / "plugins"))
KEPT_BYTES = 64_000
EXTRA = ("_ws.expert.severity", "_ws.expert.message")  # what tests ask for besides the plugin's own fields
BETWEEN = "|"  # between several values of one field
BOOLEANS = {"False": "0", "True": "1"}  # Wireshark 4.4 and later write words
# Fields whose numbers tests know by their names.
NAMED = ("netblt.dialect", "netblt.role", "netblt.capture_position", "netblt.analysis.verdict")


@dataclass(frozen=True)
class Finding:
    frame: int
    requirement: str
    verdict: str
    offender: str


class Reader:
    """Runs Wireshark programs with the plugin. Root runs them as nobody, a user that must be able to read what they are
    given wherever this tree lies: plugin and captures are copied to a folder that is open to all."""

    def __init__(self, home: Path, plugins: Path = PLUGINS) -> None:
        self.home = home
        self.known_fields: dict[str, str] = {}
        self.known_names: dict[str, dict[str, str]] = {}
        self.kept: dict[tuple[bytes, tuple[str, ...]], list[dict[str, list[str]]]] = {}
        self._copies: dict[tuple[Path, int, int], Path] = {}
        home.chmod(0o755)
        shutil.copytree(plugins, home / "plugins", dirs_exist_ok=True)
        (home / "copies").mkdir(exist_ok=True)

    def readable(self, path: Path) -> Path:
        """The file, or a copy of the same name that the user nobody can read."""
        if not nobody.changes_user() or path.is_relative_to(self.home):
            return path
        found = path.stat()
        key = (path, found.st_mtime_ns, found.st_size)
        if key not in self._copies:
            folder = self.home / "copies" / str(len(self._copies))
            folder.mkdir()
            copy = folder / path.name
            shutil.copyfile(path, copy)
            copy.chmod(0o644)
            self._copies[key] = copy
        return self._copies[key]

    def options(self, **environment: str) -> dict[str, Any]:
        """Arguments for subprocess: whose rights, settings and folder a program gets."""
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "WIRESHARK_PLUGIN_DIR": str(self.home / "plugins"),
            "LC_ALL": "C.UTF-8",
            **environment,
        }
        return {"env": env, "cwd": self.home, **nobody.credentials()}

    def run(
        self, program: str, *arguments: str, stdin: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            nobody.command([program, *arguments]),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            **self.options(**environment),
        )

    def tshark(self, path: Path, *options: str) -> str:
        done = self.run("tshark", "-n", "-r", str(self.readable(path)), *options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def field_types(self) -> dict[str, str]:
        """Every field of the plugin, and its type as tshark -G calls it."""
        if not self.known_fields:
            lines = self.run("tshark", "-G", "fields").stdout.splitlines()
            columns = [line.split("\t") for line in lines if line.startswith("F\t") and "\tnetblt." in line]
            assert len(columns) > 80
            self.known_fields = {column[2]: column[3] for column in columns}
        return self.known_fields

    def names_of(self, field: str) -> dict[str, str]:
        """The names of the numbers of a field in NAMED, as Wireshark lists them; of others nothing."""
        if field in NAMED and not self.known_names:
            lines = self.run("tshark", "-G", "values").stdout.splitlines()
            self.known_names = {name: {} for name in NAMED}
            for line in lines:  # a million, of all protocols
                if line.startswith("V\tnetblt."):
                    _, name, number, word, *_ = line.split("\t")
                    if name in NAMED:
                        self.known_names[name][str(int(number, 0))] = word
        return self.known_names.get(field, {})

    def fields(self) -> list[str]:
        return list(self.field_types())

    def read_ahead(self, captures: Iterable[bytes], *options: str) -> None:
        """Reads small captures at once, as sections of one file, so that rows() has them. Frames are numbered from 1 in
        each; streams and texts are not."""
        wanted = list(dict.fromkeys(captures))
        section, number = "frame.section_number", "frame.number"
        path = self.home / "ahead.pcapng"
        path.write_bytes(b"".join(wanted))
        names = (*self.fields(), *EXTRA, section, number)
        frames = {name for name, kind in self.field_types().items() if kind == "FT_FRAMENUM"} | {number}
        sections: list[list[dict[str, list[str]]]] = [[] for _ in wanted]
        for row in self.read(path, names, options):
            sections[int(row[section][0]) - 1].append(row)
        for capture, rows in zip(wanted, sections, strict=True):
            before = int(rows[0][number][0]) - 1
            for row in rows:
                row.update({name: [str(int(frame) - before) for frame in row[name]] for name in frames})
            self.kept[capture, options] = rows

    def rows(self, path: Path, *names: str, options: tuple[str, ...] = ()) -> list[dict[str, list[str]]]:
        """For each frame the values of the named fields; booleans as 0 and 1 whatever this Wireshark calls them, NAMED
        numbers as their names.

        A start of tshark takes much longer than a small capture: of such a one everything is read at once and kept."""
        if path.stat().st_size > KEPT_BYTES:
            return self.read(path, names, options)
        key = (path.read_bytes(), options)
        known = self.kept.get(key, [])
        missing = [name for name in names if not known or name not in known[0]]
        if missing or key not in self.kept:
            wanted = dict.fromkeys([*self.fields(), *names, *(known[0] if known else ())])
            self.kept[key] = known = self.read(path, tuple(wanted), options)
        return [{name: list(row[name]) for name in names} for row in known]

    def read(self, path: Path, names: tuple[str, ...], options: tuple[str, ...]) -> list[dict[str, list[str]]]:
        """As rows(), by a tshark of its own."""
        wanted = [argument for name in names for argument in ("-e", name)]
        text = self.tshark(path, *options, "-T", "fields", "-E", f"aggregator={BETWEEN}", *wanted)
        words = [BOOLEANS | self.names_of(name) for name in names]
        return [
            {
                name: [word.get(one, one) for one in value.split(BETWEEN)] if value else []
                for name, word, value in zip(names, words, line.split("\t"), strict=True)
            }
            for line in text.splitlines()
        ]

    def findings(self, path: Path, *options: str) -> list[Finding]:
        names = ("requirement", "verdict", "offender")
        found = []
        columns = [f"netblt.analysis.{name}" for name in names]
        for row in self.rows(path, "frame.number", *columns, options=options):
            for values in zip(*(row[column] for column in columns), strict=True):
                found.append(Finding(int(row["frame.number"][0]), *values))
        return found

    def sharkd(self, path: Path, frames: list[int]) -> dict[int, str]:
        """The tree of each frame as JSON text, requested in the given order as the GUI would."""
        asked = [{"jsonrpc": "2.0", "id": 1, "method": "load", "params": {"file": str(self.readable(path))}}]
        asked += [
            {"jsonrpc": "2.0", "id": 100 + i, "method": "frame", "params": {"frame": number, "proto": True}}
            for i, number in enumerate(frames)
        ]
        done = self.run("sharkd", "-", stdin="".join(json.dumps(line) + "\n" for line in asked))
        answers = {}
        for line in done.stdout.splitlines():
            answer = json.loads(line)
            if answer.get("id", 0) >= 100:
                tree = answer["result"]["tree"]
                answers[frames[answer["id"] - 100]] = json.dumps([n for n in tree if n.get("fn") != "frame"])
        assert len(answers) == len(set(frames)), done.stdout[:500] + done.stderr[:500]
        return answers
