# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the first inputs of the fuzzer: pieces of conversations, and vectors, in the format of harness.c.

python dissector/fuzz/corpus.py FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from dissector.tests.traffic import random_settings, run_transfers  # noqa: E402

FROM_B, REPAIR, UDP, ETFTP = 1, 2, 4, 8
PACKETS = 40  # of a conversation in an input


def entry(flags: int, raw: bytes) -> bytes:
    return bytes((flags,)) + len(raw).to_bytes(2, "big") + raw


def conversations(count: int) -> list[bytes]:
    out = []
    for seed in range(count):
        frames, _ = run_transfers([random_settings(seed, packet_size=16, capture_loss=0.0)])
        seen = [frame.data for frame in frames if frame.interface == seed % 3]
        for start in (0, max(0, len(seen) - PACKETS)):
            some = seen[start : start + PACKETS]
            out.append(b"".join(entry(REPAIR | (raw[15] == 2) * FROM_B, raw[20:]) for raw in some))
    return out


def vectors() -> list[bytes]:
    out = []
    for path in sorted((ROOT / "pcaps" / "vectors").glob("*.json")):
        found = json.loads(path.read_text())
        if isinstance(found, list):
            raws = [bytes.fromhex(vector["hex"])[:400] for vector in found]
            out += [
                b"".join(entry(carrier, raw) for raw in raws[i : i + 10])
                for i in range(0, len(raws), 10)
                for carrier in (0, UDP, ETFTP)
            ]
    return out


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(conversations(60) + vectors()):
        (folder / f"seed-{number:04}").write_bytes(content)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
