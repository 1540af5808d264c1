# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds settings of netblt for a path: candidates, their predicted transfers, and the choice among them."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import math
import os
import statistics
from collections.abc import Iterable, Iterator, Sequence

from netblt_plan import best
from netblt_plan.path import Path, Settings, run_of
from netblt_plan.simulate import simulate

# What the simulation is limited to; the rest of a longer transfer is counted at its steady rate.
SIMULATED_PACKETS_MAX = 150_000
SIMULATED_PRODUCTS_MIN = 40
# Of the path's capacity for data: at it, and below it where queues need room.
_SHARES = (0.90, 0.95, 0.98, 1.0)
_BUFFER_BYTES = (32 << 10, 64 << 10, 128 << 10, 256 << 10, 1 << 20)
_PACKETS_PER_BUFFER_MAX = 65_535
_PRODUCTS = 3  # outstanding: one on its way, one that is retransmitted, one whose OK is on its way
_OTHER_PRODUCTS = (1, 2, 5)
_BUFFERS_PER_ROUND_TRIP_MAX = 40
_BUFFERS_MORE = 2
_MAX_BUFFERS = 65_535
_MEMORY_MAX_BYTES = 1 << 30  # of netblt
_AUTO_START_SHARE = 0.5
# Times this close count as the same.
_SAME = 0.01


@dataclasses.dataclass(frozen=True, slots=True)
class Prediction:
    """Means over the seeds, of a transfer of `size` bytes. `seconds` is nan when it did not end."""

    settings: Settings
    size: int
    seconds: float
    efficiency: float  # data bits of the bits that the path's rate allows in this time
    sent: float  # DATA packets
    retransmitted: float
    queue_drops: float  # share of the packets, at the bottleneck's queue
    steady_bps: float  # data bits a second without beginning and end; nan for a short transfer
    simulated_bytes: int

    @property
    def finished(self) -> bool:
        return math.isfinite(self.seconds)

    @property
    def goodput_bps(self) -> float:
        return 8 * self.size / self.seconds

    @property
    def extrapolated(self) -> bool:
        return self.simulated_bytes < self.size


def _settings(path: Path, packet_size: int, buffer_bytes: int, products: float, share: float | None) -> Settings:
    """`share` of the capacity as a fixed rate; None: automatic, started at half the rate."""
    packets = max(1, min(_PACKETS_PER_BUFFER_MAX, buffer_bytes // packet_size))
    buffer_size = packets * packet_size
    count = math.ceil(products * path.product_bytes / buffer_size) + _BUFFERS_MORE
    count = max(1, min(count, _MAX_BUFFERS, _MEMORY_MAX_BYTES // buffer_size))
    start = _AUTO_START_SHARE if share is None else share
    burst_size, interval = best.pair(start * path.capacity(packet_size), packet_size)
    return Settings(share is None, packet_size, buffer_size, count, burst_size, interval)


def first_candidates(path: Path) -> list[Settings]:
    """Rate control and buffer sizes, with whole packets and three products outstanding."""
    sizes = (
        [*_BUFFER_BYTES, int(path.product_bytes / 40)] if path.product_bytes / 40 > _BUFFER_BYTES[-1] else _BUFFER_BYTES
    )
    return _distinct(
        _settings(path, path.packet_size, bytes_, _PRODUCTS, share) for share in (None, *_SHARES) for bytes_ in sizes
    )


def neighbours(path: Path, settings: Settings) -> list[Settings]:
    """Other numbers of buffers and a smaller packet, with the rate and the buffer size of `settings`."""
    share = None if settings.automatic else _share(path, settings)
    around = [_settings(path, settings.packet_size, settings.buffer_size, n, share) for n in _OTHER_PRODUCTS]
    half = settings.packet_size // 2 // 4 * 4
    smaller = [_settings(path, half, settings.buffer_size, _PRODUCTS, share)] if half else []
    return _distinct([*around, *smaller])


def _share(path: Path, settings: Settings) -> float:
    rate = 8000 * settings.burst_size * settings.packet_size / settings.burst_interval_ms
    return rate / path.capacity(settings.packet_size)


def _distinct(settings: Iterable[Settings]) -> list[Settings]:
    return list(dict.fromkeys(settings))


def simulated_bytes(path: Path, settings: Settings, size: int) -> int:
    """How much of the transfer is simulated: enough for its steady state, and never much more."""
    limit = max(SIMULATED_PACKETS_MAX * settings.packet_size, SIMULATED_PRODUCTS_MIN * path.product_bytes)
    return min(size, math.ceil(limit))


def _mean(values: Iterator[float]) -> float:
    return statistics.fmean(values)


def predict(path: Path, settings: Settings, size: int, seeds: Sequence[int]) -> Prediction:
    """Simulates the transfer with each seed."""
    part = simulated_bytes(path, settings, size)
    run = run_of(path, settings, part)
    figures = [simulate(run, seed).metrics for seed in seeds]
    seconds = _mean(one["seconds"] if one["finished"] else math.nan for one in figures)
    steady = 1e6 * _mean(one["speed"] for one in figures)
    scale = size / part
    if scale > 1:
        seconds += 8 * (size - part) / (steady if math.isfinite(steady) else 8 * part / seconds)
    return Prediction(
        settings=settings,
        size=size,
        seconds=seconds,
        efficiency=8 * size / seconds / path.rate,
        sent=scale * _mean(one["sent"] for one in figures),
        retransmitted=scale * _mean(one["rxm"] for one in figures),
        queue_drops=_mean(one["queue_drops"] for one in figures),
        steady_bps=steady,
        simulated_bytes=part,
    )


def fastest(path: Path, predictions: Iterable[Prediction]) -> Prediction | None:
    """The shortest transfer; of those within 1 % of it, the one with the least memory for three products: with less, a
    packet that is lost twice stops the sender, which three simulated transfers may not show. None: no transfer ends."""
    ended = [one for one in predictions if one.finished]
    if not ended:
        return None
    limit = min(one.seconds for one in ended) * (1 + _SAME)
    enough = _PRODUCTS * path.product_bytes

    def preference(one: Prediction) -> tuple[bool, int, float]:
        return one.settings.memory_bytes < enough, one.settings.memory_bytes, one.seconds

    return min((one for one in ended if one.seconds <= limit), key=preference)


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """All predictions, fastest first; the choice, and the best one with automatic rate. None: no transfer ends."""

    path: Path
    predictions: tuple[Prediction, ...]
    choice: Prediction | None
    automatic: Prediction | None


def plan(path: Path, size: int, seeds: Sequence[int]) -> Plan:
    """Predicts the candidates, then the neighbours of the best fixed and the best automatic one. C does the work and
    releases Python's lock meanwhile, so threads are enough."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:

        def predict_all(settings: Iterable[Settings]) -> list[Prediction]:
            return list(pool.map(lambda one: predict(path, one, size, seeds), settings))

        predictions = predict_all(first_candidates(path))
        leaders = [
            fastest(path, (one for one in predictions if one.settings.automatic is mode)) for mode in (False, True)
        ]
        known = {one.settings for one in predictions}
        around = _distinct(near for one in leaders if one is not None for near in neighbours(path, one.settings))
        predictions += predict_all(one for one in around if one not in known)
    predictions.sort(key=lambda one: (not one.finished, one.seconds))
    automatic = fastest(path, (one for one in predictions if one.settings.automatic))
    return Plan(path, tuple(predictions), fastest(path, predictions), automatic)
