# SPDX-License-Identifier: GPL-2.0-or-later
"""tshark on a pipe that stays open: findings come out while packets go in."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable

from netblt_conformance.common.child import die_with_parent
from netblt_conformance.common.errors import JudgeError
from netblt_conformance.judges import standings
from netblt_conformance.judges.findings import Finding, FindingReader
from netblt_conformance.judges.limits import failure, limits
from netblt_conformance.judges.tshark import Tshark

_CHUNK_BYTES = 1 << 16
# A pcapng block of a type for local use, which readers skip. tshark reads pipes 8 KiB at a time and shows a packet only
# when the piece that it ends in is full, so one such block follows the last packet of a burst.
_LOCAL_BLOCK_TYPE = 0x8000_0B17
_FILLER_BYTES = 16 * 1024
_FILLER_LENGTH = _FILLER_BYTES.to_bytes(4, "little")
_FILLER = _LOCAL_BLOCK_TYPE.to_bytes(4, "little") + _FILLER_LENGTH + bytes(_FILLER_BYTES - 12) + _FILLER_LENGTH

_REPORTS = (standings.SUMMARY, standings.REPORT)


class LiveJudge:
    """`on_finding` is called from another thread."""

    def __init__(self, tshark: Tshark, on_finding: Callable[[Finding], None]) -> None:
        self.findings: list[Finding] = []
        self._on_finding = on_finding
        self.reports = standings.Reports()
        self.reader = FindingReader(self.reports)
        self._broken: JudgeError | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - read when tshark has ended
        self._tshark = tshark
        self._process = tshark.start(
            subprocess.PIPE,
            "-l",
            *tshark.judging(_REPORTS),
            stderr=self._errors,
            preexec_fn=die_with_parent,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        while chunk := os.read(self._process.stdout.fileno(), _CHUNK_BYTES):
            if self._broken is not None:
                continue  # tshark must not wait for us
            try:
                found = self.reader.feed(chunk)
            except JudgeError as error:
                self._broken = error
                continue
            self.findings += found
            for finding in found:
                self._on_finding(finding)

    def write(self, data: bytes) -> None:
        """Waits while tshark is late: then the kernel's buffer fills, and dumpcap counts what does not fit."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise JudgeError(f"tshark gave up: {self._last_words()}") from None

    def flush(self) -> None:
        """Makes tshark show what it has read. Allowed between two blocks of the capture."""
        self.write(_FILLER)

    def _last_words(self) -> str:
        status = self._process.wait()
        self._tshark.complain_of_age(_REPORTS)
        self._errors.seek(0)
        return failure(status, self._errors.read(), limits()) or "no reason given"

    def finish(self) -> None:
        """No more packets: the plugin's reports are complete. JudgeError when tshark failed."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._listener.join()
        if self._process.wait():
            raise JudgeError(f"tshark gave up: {self._last_words()}")
        if self._broken is not None:
            raise self._broken
        self.reader.end()

    def close(self) -> None:
        """Whatever happened: tshark has ended afterwards."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._listener.join()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        self._errors.close()
