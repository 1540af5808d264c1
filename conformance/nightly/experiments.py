#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every scenario with several first seeds, and every fit of RFC 1030's tables: it must find the numbers that are in
the file. Exit status 1 when something is outside its band or another number is found.

Usage: experiments.py [--seeds N] [--no-fit] [NAME...]"""

from __future__ import annotations

import argparse
import sys
import time

from netblt_plan import fit, running, scenario


def outside(name: str, seed: int) -> list[str]:
    """Complaints about one scenario."""
    result = running.run_scenario(scenario.load(scenario.find(name)), seed=seed)
    lines = [(one.run.name, check) for one in result.runs for check in one.checks]
    lines += [("the table", check) for check in result.checks]
    return [f"{name}, seed {seed}, {run}: {check.describe()}" for run, check in lines if not check.holds]


def refitted(name: str) -> list[str]:
    """Complaints about the fitted parameters of one table."""
    file = scenario.load(scenario.find(name))
    found = fit.fit(file, 1, lambda line: print(f"{name}: {line}", flush=True))
    if fit.with_values(file.raw, found.values, found.noise) == file.raw:
        return []
    return [f"{name}: fit finds {found.values} {found.noise}, which is not what the file says"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="first seeds of every scenario (default: 3)")
    parser.add_argument("--no-fit", action="store_true", help="leave the fits out, which take half an hour")
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios (default: all)")
    given = parser.parse_args()
    complaints = []
    for name in given.names or scenario.names():
        begun = time.monotonic()
        is_table = scenario.load(scenario.find(name)).is_table
        # A table's bands are for the means over its own seeds, which are many.
        for seed in range(1, 2 if is_table else given.seeds + 1):
            complaints += outside(name, seed)
        if is_table and not given.no_fit:
            complaints += refitted(name)
        print(f"{name}: {time.monotonic() - begun:.0f} s", flush=True)
    print("\n".join(complaints))
    print(f"{len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
