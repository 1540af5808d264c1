# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies of captures with the findings as packet comments, made with Wireshark's editcap."""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

from netblt_conformance.check.judge import Checked
from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.words import fit_lines
from netblt_conformance.judges.limits import last_line

# A command line holds no more; the first findings are enough.
COMMENTED_FRAMES = 1000


def prepare(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JudgeError(f"--write {folder}: {error.strerror}; choose another folder") from None


def comments(checked: Checked) -> dict[int, str]:
    """Frame -> comment: on the frame that breaks a rule, and on the one that completes the proof."""
    lines: dict[int, list[str]] = defaultdict(list)
    for connection in checked.connections:
        for finding in connection.findings:
            words = f"{finding.verdict} {finding.requirement} by {finding.offender}: {finding.text}"
            lines[finding.guilty_frame].append(words)
            if finding.frame != finding.guilty_frame:
                lines[finding.frame].append(f"proves the {finding.verdict} of frame {finding.guilty_frame}: {words}")
    return {frame: fit_lines("\n".join(lines[frame])) for frame in sorted(lines)[:COMMENTED_FRAMES]}


def write(capture: Path, output: Path, checked: Checked) -> None:
    program = shutil.which("editcap")
    if program is None:
        raise JudgeError("editcap is not installed (package wireshark-common); run tools/setup")
    words = [word for frame, comment in comments(checked).items() for word in ("-a", f"{frame}:{comment}")]
    command = [program, "-F", "pcapng", *words, str(capture), str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise JudgeError(f"editcap failed: {last_line(done.stderr)}")
