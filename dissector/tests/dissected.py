# SPDX-License-Identifier: GPL-2.0-or-later
"""Digests of what Wireshark's programs show of NETBLT in every committed capture, so that an unintended change is seen:
tshark's text of one pass, and of two passes with the verdicts as JSON, and sharkd's JSON for each frame and table.
--against compares the texts in full.

    dissected.py                   which captures are shown in another way than pcaps/dissected.json states
    dissected.py --write           makes pcaps/dissected.json again: name each change in the commit
    dissected.py --against FOLDER  differences to the plugin in FOLDER (it holds <version>/epan/netblt.so)

Exit code 1: there are differences. The digests state what is shown, not what is right: that lies beside each
capture."""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from scapy.utils import RawPcapNgReader

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from dissector.tests.reader import PLUGINS, ROOT, Reader

DIGESTS = ROOT / "pcaps" / "dissected.json"
FOLDERS = ("dialects", "golden", "offload", "violations")
ONE_PASS = ("-O", "netblt")
TWO_PASSES = ("-2", "-O", "netblt", "-z", "netblt,verdict,json")
PASSES = (ONE_PASS, TWO_PASSES)
_NAMES = "summary", "buffers", "messages", "verdict"
TABLES = {f"tap{at}": f"nstat:netblt,table,{table}" for at, table in enumerate(_NAMES)}
LINES_SHOWN = 20


def captures() -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (ROOT / "pcaps" / folder).glob("*.pcapng"))


def shown(reader: Reader, path: Path) -> list[str]:
    """The text of one pass, and that of two."""
    return [reader.tshark(path, *options) for options in PASSES]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT / "pcaps"))


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def texts(reader: Reader, paths: Iterable[Path]) -> dict[str, list[str]]:
    """A digest of each text, by the name of the capture. Each is a start of tshark."""
    listed = list(paths)
    for path in listed:
        reader.readable(path)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda path: [digest(text.encode()) for text in shown(reader, path)], listed)
        return dict(zip(map(name, listed), found, strict=True))


def answers(reader: Reader, paths: Iterable[Path]) -> dict[str, str]:
    """A digest of what one sharkd answers about each capture, by its name."""
    asked: list[dict[str, Any]] = []
    about: list[str] = []  # the capture of each request
    for path in paths:
        frames = sum(1 for _ in RawPcapNgReader(str(path)))
        requests: list[tuple[str, dict[str, Any]]] = [("load", {"file": str(reader.readable(path))})]
        requests += [("frame", {"frame": number, "proto": True}) for number in range(1, frames + 1)]
        requests.append(("tap", TABLES))
        asked += [{"jsonrpc": "2.0", "id": 1, "method": method, "params": params} for method, params in requests]
        about += [name(path)] * len(requests)
    lines = reader.run("sharkd", "-", stdin="".join(json.dumps(line) + "\n" for line in asked)).stdout.splitlines()
    found: dict[str, list[str]] = {}
    for capture, line in zip(about, lines, strict=True):
        assert '"result"' in line, f"{capture}: {line}"
        found.setdefault(capture, []).append(line)
    return {capture: digest("".join(some).encode()) for capture, some in found.items()}


KINDS: dict[str, Callable[[Reader, Iterable[Path]], Mapping[str, object]]] = {"texts": texts, "answers": answers}


def wireshark(reader: Reader) -> str:
    """Its version, without the last number: other versions lay out their trees otherwise."""
    return ".".join(reader.run("tshark", "--version").stdout.split()[2].split(".")[:2])


def changed(known: Mapping[str, object], found: Mapping[str, object]) -> list[str]:
    """Captures that are shown in another way, are new, or are no longer there."""
    return sorted(key for key in known.keys() | found.keys() if known.get(key) != found.get(key))


def differences(old: Reader, new: Reader, path: Path) -> list[str]:
    """Lines of the first text that differs; none when both plugins show the same."""
    for before, after in zip(shown(old, path), shown(new, path), strict=True):
        if before != after:
            return list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1))
    return []


def compare(old: Reader, new: Reader, paths: Iterable[Path]) -> int:
    """Prints what differs. The number of captures that do."""
    count = 0
    for path in paths:
        if lines := differences(old, new, path):
            count += 1
            print(f"{name(path)}:", *lines[:LINES_SHOWN], sep="\n  ")
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--against", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="netblt-dissected-") as home:
        os.umask(0o022)
        folders = [Path(home) / which for which in ("new", "old")]
        Path(home).chmod(0o755)
        for folder in folders:
            folder.mkdir()
        reader = Reader(folders[0], PLUGINS)
        if arguments.against:
            count = compare(Reader(folders[1], arguments.against), reader, captures())
            print(f"{count} of {len(captures())} captures differ")
            sys.exit(count > 0)
        version, found = wireshark(reader), {kind: made(reader, captures()) for kind, made in KINDS.items()}
    if arguments.write:
        DIGESTS.write_text(json.dumps({"wireshark": version, **found}, indent=1) + "\n", encoding="utf-8")
        return
    known = json.loads(DIGESTS.read_text(encoding="utf-8"))
    if known["wireshark"] != version:
        raise SystemExit(f"dissected: {DIGESTS.name} was made with Wireshark {known['wireshark']}")
    differing = sorted({one for kind, digests in found.items() for one in changed(known[kind], digests)})
    print(*differing, f"{len(differing)} captures are shown in another way", sep="\n")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
