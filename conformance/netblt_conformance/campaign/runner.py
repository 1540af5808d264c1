# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that runs the units of one worker: python -m netblt_conformance.campaign.runner.

It has one thread, so that it may fork a child for each piece of work (common/child.py); a Dask worker has several, and
holds locks and connections that a child must not share. Orders and results are pickled objects on pipes."""

from __future__ import annotations

import os
import pickle
import resource
import signal
import sys
import time
from typing import IO

from netblt_conformance.campaign import description, kind, rows
from netblt_conformance.campaign.kind import Kind
from netblt_conformance.campaign.messages import Answer, Order, Setup
from netblt_conformance.common.child import die_with_parent
from netblt_conformance.common.errors import HarnessError, JudgeError, LinkUnavailableError

# Errors whose text is enough; of others the type is shown as well.
_KNOWN = (HarnessError, JudgeError, LinkUnavailableError)


def processor_s() -> float:
    """Processor time of this process and of its children that have ended."""
    used = [resource.getrusage(which) for which in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def run_block(made: Kind, order: Order) -> bytes:
    began, began_s, began_cpu_s = time.time(), time.monotonic(), processor_s()
    found = made.run(range(order.first, order.stop))
    if [row.unit for row in found] != list(range(order.first, order.stop)):
        raise HarnessError(f"block {order.block}: not one row for each unit")
    spent = rows.Spent(order.worker, order.host, began, time.monotonic() - began_s, processor_s() - began_cpu_s)
    return rows.parquet(order.block, found, list(made.measures), spent)


def serve(orders: IO[bytes], answers: IO[bytes]) -> None:
    """Until there are no more orders."""

    def answer(one: Answer) -> None:
        pickle.dump(one, answers)
        answers.flush()

    setup: Setup = pickle.load(orders)
    if os.getppid() != setup.parent:
        return  # it died before it could be watched
    made = kind.make(description.from_json(setup.description, "the campaign"), setup.subject, "the campaign")

    def loop() -> None:
        while True:
            try:
                order: Order = pickle.load(orders)
            except EOFError:
                return
            answer(_answer(made, order))

    made.serve(loop)


def _answer(made: Kind, order: Order) -> Answer:
    try:
        return Answer(run_block(made, order))
    except _KNOWN as error:
        return Answer(error=str(error))
    except Exception as error:
        return Answer(error=f"{type(error).__name__}: {error}")


def main() -> int:
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command ends this process
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints must not be taken for an answer
    serve(sys.stdin.buffer, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
