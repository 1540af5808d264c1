# SPDX-License-Identifier: BSD-2-Clause
"""Measurements at the same time, each in a process of its own: on lines so slow that none disturbs another."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from ..plan import Step, clock
from ..processes import BenchError

PR_SET_PDEATHSIG = 1
GRACE_S = 15.0


def _measure(step: Step, parent: int, answer: Connection) -> None:
    """In the process of one measurement, which ends when its parent does."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        return
    try:
        answer.send((step.measure(), None))
    except BenchError as problem:
        answer.send((None, str(problem)))


def carry_out_together(steps: list[Step]) -> None:
    """Does them all at once. What fails is noted in its cell, said at once, and costs no other row."""
    if not steps:
        return
    seconds = max(step.seconds for step in steps)
    print(f"at the same time, about {clock(seconds)}:", file=sys.stderr)
    for step in steps:
        print(f"    {step.row}: {step.title}", file=sys.stderr, flush=True)
    context = multiprocessing.get_context("fork")
    running: list[tuple[Step, BaseProcess, Connection]] = []
    try:
        for step in steps:
            here, there = context.Pipe(duplex=False)
            process = context.Process(target=_measure, args=(step, os.getpid(), there))
            process.start()
            there.close()
            running.append((step, process, here))
        for step, worker, answer in running:
            try:
                sample, trouble = answer.recv()
            except EOFError:
                worker.join(GRACE_S)
                sample, trouble = None, f"the measurement ended with status {worker.exitcode}"
            if trouble is None:
                step.cell.samples.append(sample)
            else:
                step.cell.trouble = trouble
                print(f"    {step.title}: {trouble}", file=sys.stderr, flush=True)
    finally:
        for _, worker, _ in running:
            if worker.is_alive():
                worker.terminate()
        for _, worker, _ in running:
            worker.join(GRACE_S)
