# SPDX-License-Identifier: GPL-2.0-or-later
"""The flakeway's engine seen from Python. What the engine does is tested in C (conformance/flakeway/tests)."""

from __future__ import annotations

import re
import struct

import pytest
from netblt_conformance.common import paths
from netblt_conformance.simlib import ActionKind, Direction, Flakeway, RuleError

A_TO_B, B_TO_A = Direction.A_TO_B, Direction.B_TO_A


def packet(packet_type: int, filler: int = 0, length: int = 40) -> bytes:
    return struct.pack("!HBBH", 0, 2, packet_type, length) + bytes([filler]) * (length - 6)


def test_a_packet_comes_out_as_it_went_in() -> None:
    flakeway = Flakeway(1, "latency 250us")
    number = flakeway.offer(A_TO_B, packet(6, 7), 1000)
    assert flakeway.deadline == 1250
    assert flakeway.release(1249) == []
    (released,) = flakeway.release(1250)
    assert released == (number, 0, A_TO_B, False, 1000, 1250, packet(6, 7))
    assert flakeway.deadline is None


def test_rules_come_and_go_while_packets_fly() -> None:
    flakeway = Flakeway(1)
    rule = flakeway.add("drop DATA")
    flakeway.offer(A_TO_B, packet(6), 0)
    flakeway.offer(A_TO_B, packet(7), 0)
    assert flakeway.hits(rule) == 1
    flakeway.remove(rule, 0)
    flakeway.offer(A_TO_B, packet(6), 0)
    assert [released.packet_id for released in flakeway.release(0)] == [2, 3]
    with pytest.raises(KeyError, match="no rule 1"):
        flakeway.remove(rule, 0)


def test_decisions_are_kept_as_events() -> None:
    flakeway = Flakeway(1, "drop nth=2 b>a")
    for now in range(3):
        flakeway.offer(B_TO_A, packet(6), now)
    (event,) = flakeway.take_events()
    assert event == (2, 1, B_TO_A, ActionKind.DROP, 1, "drop nth=2 b>a", "dropped by rule 1 (drop nth=2 b>a)")
    assert flakeway.events == []
    assert flakeway.stats(B_TO_A).dropped == 1


def test_a_word_that_is_unknown_is_answered_with_all_that_are_known() -> None:
    with pytest.raises(RuleError, match="no action or rate") as caught:
        Flakeway(1, "bogus")
    message = str(caught.value)
    text = (paths.root() / "docs" / "flakeway.md").read_text(encoding="utf-8")
    rates = re.findall(r"^    ([a-z]+) \S", text.partition("## Rates")[2].partition("\n## ")[0], re.MULTILINE)
    assert len(set(rates)) > 10
    for rate in rates:
        assert re.search(rf"\b{rate}\b", message), rate


def test_bytes_of_a_file_that_holds_no_rules_do_not_reach_a_terminal() -> None:
    with pytest.raises(RuleError, match=r'"\?\[31m\?\?" is no action'):
        Flakeway(1, "\x1b[31m\u00e9")


def test_mistakes_name_word_and_column() -> None:
    flakeway = Flakeway(1)
    with pytest.raises(RuleError, match='column 6: "LDTA" is no direction') as caught:
        flakeway.add("drop LDTA")
    assert caught.value.column == 6
    with pytest.raises(RuleError, match='line 2, column 6: "2" is not a percentage'):
        flakeway.add_lines("drop\nloss 2\n")
    assert flakeway.add("pass") == 1


def test_a_hook_decides_from_the_bytes() -> None:
    flakeway = Flakeway(1)
    rule = flakeway.add("hook a>b DATA")
    asked: list[tuple[int, Direction, bytes, int]] = []

    def hook(number: int, direction: Direction, data: bytes, now: int) -> str | None:
        asked.append((number, direction, data, now))
        return {1: "drop", 2: "delay 3ms"}.get(data[-1])

    flakeway.set_hook(hook)
    for filler in range(4):
        flakeway.offer(A_TO_B, packet(6, filler), filler)
    flakeway.offer(A_TO_B, packet(7, 1), 9)
    assert asked == [(rule, A_TO_B, packet(6, filler), filler) for filler in range(4)]
    assert [(r.packet_id, r.release_us) for r in flakeway.release(9999)] == [(1, 0), (4, 3), (5, 9), (3, 3002)]
    flakeway.set_hook(None)
    flakeway.offer(A_TO_B, packet(6, 1), 10_000)
    assert len(flakeway.release(10_000)) == 1


def test_a_hooks_exception_or_nonsense_reaches_the_caller() -> None:
    flakeway = Flakeway(1, "hook")

    def fail(*_: object) -> str:
        raise LookupError("mine")

    flakeway.set_hook(fail)
    with pytest.raises(LookupError, match="mine"):
        flakeway.offer(A_TO_B, packet(6), 0)
    flakeway.set_hook(lambda *_: "explode")
    with pytest.raises(RuleError, match='"explode" is no action'):
        flakeway.offer(A_TO_B, packet(6), 0)
    flakeway.set_hook(lambda *_: "drop")
    flakeway.offer(A_TO_B, packet(6), 0)
    assert [released.packet_id for released in flakeway.release(0)] == [1, 2]


def test_equal_seeds_give_equal_fates_and_others_do_not() -> None:
    def fates(seed: int) -> list[tuple[int, int]]:
        flakeway = Flakeway(seed, "loss 20%", "reorder 20% by 3us", "duplicate 10%")
        for now in range(200):
            flakeway.offer(A_TO_B, packet(6), now)
        return [(released.packet_id, released.release_us) for released in flakeway.release(10_000)]

    assert fates(5) == fates(5)
    assert fates(5) != fates(6)
