# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the blocks of a campaign that have not ended on a Dask cluster, and stores each as it comes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any

from netblt_conformance.campaign import prepared
from netblt_conformance.campaign.cluster import Where
from netblt_conformance.campaign.errors import CampaignError, MismatchError, NotDeliveredError, library
from netblt_conformance.campaign.folder import Folder, State
from netblt_conformance.campaign.worker import Task, mismatch, run_task

# A block that fails by itself, or with its worker (cluster.DEATHS), so many times is left alone.
ATTEMPTS = 3
# Blocks that are left alone after which the campaign ends: the others would fail in the same way.
GIVEN_UP_MOST = 10
# Blocks that wait at each worker, so that none is without work while a result travels.
WAITING = 2
_LOOK_S = 2.0  # between two looks how many workers there are


@dataclass(slots=True)
class Progress:
    """What a run has done so far."""

    units: int  # of the whole campaign
    done: int  # also in runs before this one
    workers: int = 0
    given_up: dict[int, str] = field(default_factory=dict)  # blocks without a result, and why


class Run:
    """One run of a campaign; `show` is called whenever something has changed."""

    def __init__(
        self, folder: Folder, state: State, where: Where, client: Any, show: Callable[[Progress], None]
    ) -> None:
        self._folder = folder
        self._state = state
        self._where = where
        self._client = client
        self._show = show
        self._attempts: Counter[int] = Counter()
        self._looked_s = 0.0
        self._threads = 1
        done = folder.finished()
        self._left = [block for block in range(state.blocks) if block not in done]
        self.progress = Progress(state.units, sum(len(state.range_of(block)) for block in done))

    def run(self) -> Progress:
        """CampaignError when it cannot go on; what was stored stays."""
        try:
            return self._run()
        except (OSError, CancelledError, TimeoutError) as error:  # Dask's own errors are of these kinds
            raise CampaignError(f"{self._lost}: {error}") from None

    @property
    def _lost(self) -> str:
        return f"the connection to the scheduler {self._where.scheduler} is lost".replace("  ", " ")

    def _run(self) -> Progress:
        self._deliver()
        self._check_workers()
        self._show(self.progress)
        todo = iter(self._left)
        waiting: dict[Any, int] = {}
        completed = library("distributed").as_completed()

        def submit(block: int) -> None:
            future = self._submit(block)
            waiting[future] = block
            completed.add(future)

        for block in self._next(todo, 0):
            submit(block)
        while waiting:
            future = next(completed)
            block = waiting.pop(future)
            again = self._take(future, block)
            future.release()
            if again:
                submit(block)
            if len(self.progress.given_up) >= GIVEN_UP_MOST:
                break
            for further in self._next(todo, len(waiting)):
                submit(further)
            self._show(self.progress)
        return self.progress

    def _deliver(self) -> None:
        from netblt_conformance.campaign.plugin import Delivery

        package = prepared.package(self._state, self._folder.subject(self._state))
        self._client.register_plugin(Delivery(package, local=self._where.local))

    def _check_workers(self) -> None:
        """Those that are there; each compares again when it gets its first block."""
        different = [text for text in self._client.run(mismatch, self._state.id).values() if text]
        if different:
            raise CampaignError(_refused(different))

    def _next(self, todo: Iterator[int], waiting: int) -> Iterator[int]:
        """Blocks to submit while `waiting` have been."""
        now_s = time.monotonic()
        if now_s - self._looked_s > _LOOK_S:
            threads = self._client.nthreads()
            self._looked_s, self._threads = now_s, max(1, sum(threads.values()))
            self.progress.workers = len(threads)
        for _ in range(WAITING * self._threads - waiting):
            block = next(todo, None)
            if block is None:
                return
            yield block

    def _submit(self, block: int) -> Any:
        units = self._state.range_of(block)
        task = Task(self._state.id, block, units.start, units.stop)
        key = f"netblt-{self._state.id}-{block}-{self._attempts[block]}"
        return self._client.submit(run_task, task, key=key, pure=False)

    def _take(self, future: Any, block: int) -> bool:
        """Stores the result of a block. True: it has to run once more."""
        if future.status == "finished":
            self._store(block, future.result())
            self.progress.done += len(self._state.range_of(block))
            return False
        if future.status != "error":
            raise CampaignError(self._lost)
        error = future.exception()
        if isinstance(error, MismatchError):
            raise CampaignError(_refused([str(error)]))
        self._attempts[block] += 1
        if isinstance(error, NotDeliveredError):
            self._deliver()
        elif self._attempts[block] >= ATTEMPTS:
            self.progress.given_up[block] = str(error)
            return False
        return True

    def _store(self, block: int, content: bytes) -> None:
        try:
            self._folder.store(block, content)
        except OSError as error:
            raise CampaignError(f"{self._folder.path}: a block cannot be stored: {error.strerror}") from None


def _refused(different: list[str]) -> str:
    return (
        "workers have another version than this campaign: "
        + "; ".join(different)
        + ". Install the same version of the project there"
    )
