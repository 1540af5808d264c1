# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls of a function in several processes, which end with this one."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from netblt_conformance.common.child import ENDING, die_with_parent

Item = TypeVar("Item")
Found = TypeVar("Found")


def _begin() -> None:
    """In a process: this one decides what a signal ends, and a terminal sends Ctrl-C to all of them."""
    die_with_parent()
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def in_processes(function: Callable[[Item], Found], items: Sequence[Item], jobs: int) -> Iterator[Found]:
    """What the function returns, in the order of the items, at most `jobs` at a time. An exception of the function is
    raised here. When the caller stops, or is interrupted, the processes are killed."""
    pool = concurrent.futures.ProcessPoolExecutor(
        jobs, mp_context=multiprocessing.get_context("fork"), initializer=_begin
    )
    try:
        yield from pool.map(function, items)
    except BaseException:
        for process in multiprocessing.active_children():
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
