# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes captures of mutated NETBLT packets: real conversations and vectors, spoiled with knowledge of the fields or
blindly, in every carrier that leads to the plugin. The same seed makes the same capture.

python dissector/fuzz/mutate.py SEED COUNT FILE
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from dissector.tests import forge  # noqa: E402
from dissector.tests.forge import CONTROL, DATA, LDATA, NULL_ACK, OPEN, RESPONSE, Frame, checksum  # noqa: E402
from dissector.tests.traffic import POSITIONS, random_settings, run_transfers  # noqa: E402

EDGES = (0, 1, 2, 3, 4, 7, 8, 11, 12, 13, 23, 24, 35, 36, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF)
WIDE_EDGES = (*EDGES, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)
# Offsets and widths of the fields of a packet type; RFC 998 and the offsets of ETFTP and version 4 mixed, as a bad
# implementation would.
FIELDS = {
    OPEN: ((12, 4), (16, 4), (20, 4), (24, 2), (26, 2), (28, 2), (30, 2), (32, 2), (34, 2), (36, 2)),
    DATA: ((12, 4), (16, 2), (18, 2), (20, 2), (22, 2), (24, 2), (26, 2)),
    NULL_ACK: ((12, 2), (14, 2), (16, 2), (18, 2), (20, 2)),
}
HEADER = ((2, 1), (3, 1), (4, 2), (6, 2), (8, 2), (10, 2))
UDP_PORTS = (9980, 1818, 5555)  # ours, ETFTP's, one that only the heuristic finds


def repaired(raw: bytes, covered: int | None = None) -> bytes:
    """With a checksum that fits, so that the packet gets past the first gate."""
    if len(raw) < 12:
        return raw
    length = min(int.from_bytes(raw[4:6], "big"), len(raw))
    end = covered or (24 if raw[3] in (DATA, LDATA) else length)
    return checksum(b"\0\0" + raw[2:end]).to_bytes(2, "big") + raw[2:]


class Mutator:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def put(self, out: bytearray, offset: int, width: int) -> None:
        if offset + width > len(out):
            return
        old = int.from_bytes(out[offset : offset + width], "big")
        choice = self.rng.randrange(5)
        if choice == 0:
            new = old + self.rng.choice((-2, -1, 1, 2))
        elif choice == 1:
            new = old ^ 1 << self.rng.randrange(8 * width)
        elif choice == 2:
            new = self.rng.getrandbits(8 * width)
        else:
            new = self.rng.choice(WIDE_EDGES)
        out[offset : offset + width] = (new & (1 << 8 * width) - 1).to_bytes(width, "big")

    def fields(self, out: bytearray) -> None:
        kind = DATA if out[3] == LDATA else OPEN if out[3] == RESPONSE else out[3]
        for _ in range(self.rng.choice((1, 1, 2, 4))):
            self.put(out, *self.rng.choice(FIELDS.get(kind, HEADER)))
        if self.rng.random() < 0.3:
            self.put(out, *self.rng.choice(HEADER))

    def messages(self, out: bytearray) -> None:
        """Walks like a reader and damages what it finds; or a list made from nothing."""
        if self.rng.random() < 0.2:
            pieces = [self.message() for _ in range(self.rng.choice((0, 1, 3, 60)))]
            out[12:] = b"".join(pieces)
            out[4:6] = min(len(out), 0xFFFF).to_bytes(2, "big")
            return
        at = 12
        while at + 8 <= len(out):
            kind, count = out[at], int.from_bytes(out[at + 8 : at + 10], "big")
            if self.rng.random() < 0.4:
                self.put(out, at + self.rng.choice((0, 1, 2, 4, 8, 10, 12, 14)), self.rng.choice((1, 2, 2, 4)))
            at += {0: 8, 1: 16}.get(kind, 12 + (count * 2 + 3) // 4 * 4)

    def message(self) -> bytes:
        seq, buffer = (
            self.rng.choice((self.rng.randrange(40), 0xFFFF, 0x8000)),
            self.rng.choice((0, 1, 2, 5, 0xFFFFFFFF)),
        )
        kind = self.rng.randrange(5)
        if kind == 0:
            return forge.go(seq, buffer)
        if kind == 1:
            return forge.ok(seq, buffer, self.rng.choice(EDGES), self.rng.choice(EDGES), self.rng.choice(EDGES))
        numbers = [self.rng.choice((*range(9), 0xFFFF)) for _ in range(self.rng.randrange(12))]
        if kind == 2:
            return forge.resend(seq, buffer, numbers)
        if kind == 3:
            return forge.resend(seq, buffer, numbers, self.rng.choice(EDGES))
        return self.rng.randbytes(self.rng.randrange(20))

    def blind(self, out: bytearray) -> None:
        for _ in range(self.rng.choice((1, 1, 2, 8))):
            reach = len(out) if self.rng.random() < 0.5 else min(len(out), 40)
            out[self.rng.randrange(reach)] = self.rng.choice((0, 1, 2, 255, 127, 128, self.rng.randrange(256)))

    def size(self, out: bytearray, other: bytes) -> None:
        choice = self.rng.randrange(4)
        if choice == 0:
            del out[self.rng.randrange(1, len(out) + 1) :]
        elif choice == 1:
            out += self.rng.randbytes(self.rng.randrange(40))
        elif choice == 2:
            out[self.rng.randrange(len(out)) :] = other[self.rng.randrange(len(other)) :]
        elif self.rng.random() < 0.7:
            out[4:6] = len(out).to_bytes(2, "big")  # a Length that fits after all
        if len(out) == 0:
            out += b"\0"

    def packet(self, raw: bytes, other: bytes) -> bytes:
        out = bytearray(raw)
        if len(out) >= 12:
            (self.messages if out[3] == CONTROL and self.rng.random() < 0.7 else self.fields)(out)
        if self.rng.random() < 0.3:
            self.blind(out)
        if self.rng.random() < 0.25:
            self.size(out, other)
        if self.rng.random() < 0.1 and len(out) > 3:
            out[2], out[3] = self.rng.choice((0, 1, 2, 2, 3, 4, 5, 255)), self.rng.randrange(14)
        if self.rng.random() < 0.75:
            return repaired(bytes(out), self.rng.choice((None, None, None, len(out))))
        return bytes(out)

    def carried(self, head: bytes, raw: bytes, following: list[bytes]) -> bytes:
        """In an IP packet: mostly as it came, else in one of the other ways that lead to the plugin."""
        source, target = (".".join(map(str, head[at : at + 4])) for at in (12, 16))
        ip_id = int.from_bytes(head[4:6], "big")
        choice = self.rng.random()
        if choice < 0.6:
            return head[:2] + (20 + len(raw)).to_bytes(2, "big") + head[4:] + raw
        ports = (self.rng.choice(UDP_PORTS), self.rng.choice(UDP_PORTS))
        if choice < 0.7:
            return forge.ipv4(forge.udp(raw, *ports), source, target, ip_id, protocol=17)
        if choice < 0.78:  # segmentation offload: several packets in one datagram
            joined = b"".join([raw, *following][: self.rng.choice((2, 3, 20))])[:60000]
            return forge.ipv4(forge.udp(joined, *ports), source, target, ip_id, protocol=17)
        if choice < 0.86:
            return forge.ipv6(raw, bytes(12) + head[12:16], bytes(12) + head[16:20])
        if choice < 0.9:
            return forge.ipv6(forge.udp(raw, *ports), bytes(12) + head[12:16], bytes(12) + head[16:20], protocol=17)
        if choice < 0.93:  # a tunnel: two NETBLT packets in one frame are possible through it
            inner = forge.ipv4(raw, source, target, ip_id)
            return forge.ipv4(inner, "192.0.2.1", "192.0.2.2", ip_id, protocol=4)
        if choice < 0.96:  # quoted by an ICMP error
            quoted = forge.ipv4(raw, source, target, ip_id)
            return forge.ipv4(b"\x03\x02" + bytes(6) + quoted, target, source, ip_id, protocol=1)
        fragment = self.rng.choice((0x2000, 0x2000, 1, 0x2001))
        return forge.ipv4(raw, source, target, ip_id, frag=fragment)


def seeds(seed: int) -> list[Frame]:
    """Conversations on a bad path, captured at three places, and every vector."""
    frames, _ = run_transfers([random_settings(seed + number) for number in range(60)])
    assert len(frames) > 1500
    ip_id = 0
    for path in sorted((ROOT / "pcaps" / "vectors").glob("*.json")):
        vectors = json.loads(path.read_text())
        if not isinstance(vectors, list):
            continue  # the schema
        for vector in vectors:
            ip_id += 1
            raw = bytes.fromhex(vector["hex"]) or b"\0"
            frames.append(Frame(forge.NS, forge.ipv4(raw, "10.99.0.1", "10.99.0.2", ip_id)))
    return frames


def mutated_frames(seed: int, count: int) -> list[Frame]:
    """`count` frames, of which about three in four are spoiled. Some are cut by the capture."""
    mutator = Mutator(seed)
    rng = mutator.rng
    frames = seeds(seed)
    out = []
    for number in range(count):
        at = number % len(frames)
        frame = frames[at]
        head, raw = frame.data[:20], frame.data[20:]
        following = [frames[(at + i) % len(frames)].data[20:] for i in range(1, 20)] if rng.random() < 0.3 else [raw]
        if rng.random() < 0.75:
            raw = mutator.packet(raw, rng.choice(frames).data[20:])
        whole = mutator.carried(head, raw, following)[:65535]
        kept = whole if rng.random() < 0.95 else whole[: rng.randrange(min(20, len(whole)), len(whole) + 1)]
        time_ns = frame.time_ns + number * 1000 if rng.random() < 0.99 else rng.getrandbits(50)
        out.append(Frame(time_ns, kept, frame.interface, len(whole)))
    return out


def write(seed: int, count: int, path: Path) -> None:
    forge.write_pcapng(path, mutated_frames(seed, count), interfaces=POSITIONS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    write(arguments.seed, arguments.count, arguments.file)


if __name__ == "__main__":
    main()
