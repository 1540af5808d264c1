# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripts whose transfer does not finish name the requirement that stops it, and what the client knows."""

from __future__ import annotations

from pathlib import Path

import pytest
from netblt_conformance.common import wording
from netblt_conformance.generated.play import Played
from selftest.small_scripts import TERMS, replayed, with_faults

LAST_IS_FULL = TERMS.buffer_size


def outcome(played: Played) -> tuple[str, str]:
    """Requirement and text of what did not come."""
    [(requirement, found)] = [(name, one) for name, one in played.faults if one is played.judgement]
    return requirement, wording.judgement(found)


def test_a_request_that_is_never_served_stops_the_transfer(tmp_path: Path, built_library: Path) -> None:
    """RESEND-02. Stimulus: the LDATA of a buffer is lost, and requested again and again."""
    del built_library
    moves = ("lose 2", "go", "control", "wait 400000")
    played = replayed(with_faults(tmp_path, "ldata-never-repeated"), "passive-sender", *moves)
    requirement, text = outcome(played)
    assert requirement == "RESEND-02", played.faults
    assert "expected the transfer to finish" in text
    assert played.faults[0][0] == "RESEND-02", "what names a requirement comes first"


@pytest.mark.parametrize("role", ["active-sender", "passive-sender"])
def test_a_sender_that_succeeds_without_the_last_buffer_flag_stops_the_transfer(
    tmp_path: Path, built_library: Path, role: str
) -> None:
    """DATA-09. Stimulus: nothing is lost; the last buffer is full. Outcome: the client of the sender has success, and
    the receiver waits for a further buffer."""
    del built_library
    played = replayed(with_faults(tmp_path, "no-last-buffer-flag"), role, length=LAST_IS_FULL)
    requirement, text = outcome(played)
    assert requirement == "DATA-09", played.faults
    assert "success was reported to the client" in text


def test_what_names_no_requirement_comes_last(tmp_path: Path, built_library: Path) -> None:
    """Stimulus: an ABORT from another port, which the implementation obeys. It leaves without a packet."""
    del built_library
    played = replayed(with_faults(tmp_path, "abort-from-any-port"), "passive-sender", "stray 0")
    assert [name for name, _ in played.faults][-1] == "", played.faults
    assert "failure was reported to the client: peer-aborted" in outcome(played)[1]
