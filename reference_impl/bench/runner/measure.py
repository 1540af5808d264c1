# SPDX-License-Identifier: BSD-2-Clause
"""One measurement of one transport: on a bare line as fast as it goes, or on a bad path."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass

from .lab import MTU_BYTES, Lab, Line, PathLab, intervals_within, wait_until_open
from .peers import Account, Build, Peer
from .processes import BenchError, Ended, Program

LAST_WORDS_S = 3.0  # a receiver that saw the end has so long to report what it got
NS_PER_S = 1e9


@dataclass(frozen=True)
class Speed:
    """As fast as it goes: bits per second at the receiver, CPU seconds of each end per gigabyte received."""

    goodput_bps: float
    settled_bps: float  # in the second half: without the start
    sender_cpu_s_per_gb: float
    receiver_cpu_s_per_gb: float


@dataclass(frozen=True)
class PathResult:
    """A bad path. Shares refer to what was attainable: rate x payload share x (1 - loss)."""

    second_half: float  # completed at the receiver in the second half of the run
    whole_run: float
    overhead: float  # bytes put on the line / bytes completed, in the second half
    queue_drops: float  # share of its packets that found the queue full


def monotonic_s() -> float:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) / NS_PER_S


def sleep_until(moment_s: float, *watched: Program) -> None:
    """Sleeps, but not longer than any of the programs runs."""
    while (left := moment_s - monotonic_s()) > 0 and all(program.running() for program in watched):
        time.sleep(min(left, 0.2))


def _ends(peer: Peer, receiver: Program, sender: Program, patience_s: float) -> tuple[Account, Ended, Ended]:
    """Waits for both ends, asks the receiver for its account when it does not end by itself."""
    sent = sender.wait(patience_s)
    got = receiver.wait(LAST_WORDS_S if sent is not None and peer.hears_the_end else 0)
    if got is None:
        receiver.signal(signal.SIGTERM)
        got = receiver.wait(LAST_WORDS_S)
    sent, got = sent or sender.end(), got or receiver.end()
    return peer.account(got, sent), got, sent


def settled_bps(account: Account) -> float:
    """Goodput of the second half, as far as whole intervals were counted."""
    counted_s = len(account.intervals) // 2 * account.step_s
    end_s = min(account.last_s, account.first_s + len(account.intervals) * account.step_s)
    begin_s = max(account.first_s, end_s - counted_s)
    got = intervals_within(account.intervals, account.step_s, account.first_s, begin_s, end_s)
    return got * 8 / (end_s - begin_s) if end_s > begin_s else account.goodput_bps


def speed(build: Build, peer: Peer, seconds: float) -> Speed:
    """Memory to memory over a bare veth, one core sends and one receives."""
    with Lab() as lab:
        lab.connect()
        receiver = lab.program(peer.receiver(build, None), sends=False)
        wait_until_open(receiver, peer.table, peer.port)
        sender = lab.program(peer.sender(build, None, seconds), sends=True)
        account, got, sent = _ends(peer, receiver, sender, seconds + 10)
    if account.bytes == 0:
        raise BenchError(f"{peer.title}: nothing arrived: {sent.last_words}")
    gigabytes = account.bytes / 1e9
    return Speed(account.goodput_bps, settled_bps(account), sent.cpu_s / gigabytes, got.cpu_s / gigabytes)


def attainable_bps(line: Line, peer: Peer) -> float:
    return line.rate_mbit * 1e6 * peer.payload_bytes / MTU_BYTES * (1 - line.loss_percent / 100)


def bad_path(build: Build, peer: Peer, line: Line, seed: int, seconds: float) -> PathResult:
    """A transfer that lasts as long as the run; what counts is what it does when it has settled."""
    with PathLab(build.flakeway, line, seed, peer.traffic) as lab:
        receiver = lab.program(peer.receiver(build, line), sends=False, pinned=False)
        wait_until_open(receiver, peer.table, peer.port)
        begin = monotonic_s()
        half, end = begin + seconds / 2, begin + seconds
        sender = lab.program(peer.sender(build, line, seconds), sends=True, pinned=False)
        sleep_until(half, sender)
        half_at, sent_before = monotonic_s(), lab.sent_by_a()
        sleep_until(end, sender)
        end_at, sent_after = monotonic_s(), lab.sent_by_a()
        receiver.signal(signal.SIGTERM)
        got = receiver.wait(LAST_WORDS_S + (5 * line.round_trip_ms / 1e3 if peer.quits else 0)) or receiver.end()
        sent = sender.wait(0) or sender.end()
        drops, seen = lab.dropped_by_own_queue()
        account = peer.account(got, sent)
    if end_at < end - 1:
        raise BenchError(f"{peer.title}: ended after {end_at - begin:.1f} of {seconds:g} s: {sent.last_words}")
    in_window = intervals_within(account.intervals, account.step_s, account.first_s, half_at, end_at)
    attainable = attainable_bps(line, peer) / 8
    return PathResult(
        second_half=in_window / (attainable * (end_at - half_at)),
        whole_run=account.bytes / (attainable * (end_at - begin)),
        overhead=(sent_after - sent_before) / in_window if in_window else float("inf"),
        queue_drops=drops / seen if seen else 0.0,
    )
