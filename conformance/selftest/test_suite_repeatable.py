# SPDX-License-Identifier: GPL-2.0-or-later
"""The same seed gives the same bytes, results and captures alike, however many cases run at a time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from netblt_conformance.common import paths

if TYPE_CHECKING:
    from selftest.conftest import Command, Outcome

FEW = "CTRL-04,RESEND-02,TIMER-07,OPEN-02,CKSUM-06,impossible_packets"  # damage of both kinds among them
# Over the pipe single faults are swept too: one transfer in one role is enough to compare.
MORE = {
    "sim": (FEW, "--no-sweep"),
    "pipe": (FEW + ",sweep_lock", "--adapter", str(paths.adapters() / "example_pipe.toml")),
}


def bytes_of(done: Outcome) -> dict[str, bytes]:
    assert done.status == 0, done.output + done.errors
    found = {path.name: path.read_bytes() for path in done.report.iterdir()}
    found["junit.xml"] = re.sub(rb' time="[0-9.]+"', b"", found["junit.xml"])  # real time
    assert {"results.jsonl", "junit.xml", "report.html"} <= found.keys()
    return found


@pytest.mark.long
@pytest.mark.usefixtures("built_library")
@pytest.mark.parametrize("link", ["sim", pytest.param("pipe", marks=pytest.mark.nightly)])
def test_the_same_seed_gives_the_same_bytes_whatever_the_jobs(command: Command, link: str) -> None:
    words = ("run", "--link", link, "--no-dissector", "--role", "passive-receiver", "--select", *MORE[link])
    one, other = (bytes_of(command(*words, "--seed", "7", "--jobs", jobs)) for jobs in ("1", "3"))
    assert len(one) > 10
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []


@pytest.mark.usefixtures("built_library")
def test_another_seed_gives_other_packets(command: Command) -> None:
    """So that the test above can fail."""
    words = (
        "run",
        "--link",
        "sim",
        "--no-dissector",
        "--no-sweep",
        "--role",
        "passive-receiver",
        "--select",
        "CTRL-04",
    )
    one, other = (bytes_of(command(*words, "--seed", seed)) for seed in ("7", "8"))
    assert one.keys() == other.keys()
    assert all(one[name] != other[name] for name in one)
