# SPDX-License-Identifier: BSD-2-Clause
"""What the programs of tools/bench share: how they are interrupted, and their exit status."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from .processes import BenchError


def _interrupted(number: int, _frame: object) -> NoReturn:
    """Leaves through every `with`: programs end, and their namespaces with them."""
    print("tools/bench: interrupted", file=sys.stderr)
    raise SystemExit(128 + number if number != signal.SIGINT else 130)


def end_orderly() -> None:
    """From now on a signal leaves through every `with`."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)


def run_program(main: Callable[[list[str]], int]) -> NoReturn:
    """Ends with the status of `main`, or 2 where it could not run."""
    try:
        sys.exit(main(sys.argv[1:]))
    except BenchError as problem:
        print(f"tools/bench: {problem}", file=sys.stderr)
        sys.exit(2)
