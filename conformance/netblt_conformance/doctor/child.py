# SPDX-License-Identifier: GPL-2.0-or-later
"""Examines one role in a child process: a library that crashes or hangs ends the child only, and network namespaces
stay the child's."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import IO, Any, NoReturn

from netblt_conformance.cases.case import Profile
from netblt_conformance.common.child import die_with_parent
from netblt_conformance.common.errors import LinkUnavailableError
from netblt_conformance.common.kept import kept_file, kept_text
from netblt_conformance.common.model import Role
from netblt_conformance.common.verdicts import ExitCode
from netblt_conformance.doctor.transfer import Examined, Stage, WatchedCapture, examine
from netblt_conformance.links.base import Account, LinkFactory
from netblt_conformance.packets.capture import Capture, Frame

# A transfer of 2 KiB takes a second. Waiting for each of its steps in vain, with each choice that is tried, takes less.
LIMIT_S = 180.0


@dataclass(slots=True)
class Findings:
    """What came of one role, and the packets of its last transfer."""

    examined: Examined
    frames: list[Frame] = field(default_factory=list)
    observed: dict[str, str] = field(default_factory=dict)


def look_at(factory: LinkFactory, role: Role, seed: int, limit_s: float = LIMIT_S) -> Findings:
    """One role. LinkUnavailableError when nothing can be tried here."""
    reader, writer = os.pipe()
    with kept_file() as output, kept_file() as errors:
        child = os.fork()
        if child == 0:
            os.close(reader)
            _child(factory, role, seed, writer, output, errors)
        os.close(writer)
        found = Findings(Examined(role, Stage.CRASHED))
        ended = _listen(reader, found, time.monotonic() + limit_s)
        if not ended:
            os.kill(child, signal.SIGKILL)
        os.close(reader)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        _settle(found, None if not ended else code, limit_s, kept_text(output), kept_text(errors))
    return found


def _settle(found: Findings, code: int | None, limit_s: float, output: str, errors: str) -> None:
    """What only the end of the child tells, and what an implementation inside of it has printed."""
    examined = found.examined
    if code is None:
        examined.reason = f"hangs: the transfer is not over after {limit_s:g} s"
    elif code != ExitCode.HOLDS:
        examined.account = Account(exit_status=code)
        how = f"crashed with {signal.Signals(-code).name}" if code < 0 else f"ended the process, exit status {code}"
        examined.reason = how
    if not examined.account.command:
        account = examined.account
        examined.account = replace(account, output=account.output or output, errors=account.errors or errors)


def _listen(reader: int, found: Findings, give_up_s: float) -> bool:
    """Takes in what the child reports, to its end; False when the time is over."""
    buffer = b""
    while (left_s := give_up_s - time.monotonic()) > 0:
        if not select.select([reader], [], [], left_s)[0]:
            break
        chunk = os.read(reader, 1 << 16)
        if not chunk:
            return True
        *lines, buffer = (buffer + chunk).split(b"\n")
        for line in lines:
            _take(json.loads(line), found)
    return False


def _take(event: dict[str, Any], found: Findings) -> None:
    kind = event["event"]
    if kind == "attempt":
        found.frames.clear()
    elif kind == "frame":
        found.frames.append(Frame(event["time_us"], bytes.fromhex(event["packet"]), event["sent"]))
    elif kind == "unavailable":
        raise LinkUnavailableError(event["why"])
    elif kind == "examined":
        row = event["examined"]
        row["account"]["command"] = tuple(row["account"]["command"])
        found.examined = Examined(
            role=found.examined.role,
            stage=Stage(row["stage"]),
            reason=row["reason"],
            account=Account(**row["account"]),
            heard=row["heard"],
            profile=Profile.from_json(row["profile"]),
        )


def _child(factory: LinkFactory, role: Role, seed: int, writer: int, output: IO[bytes], errors: IO[bytes]) -> NoReturn:
    """Never returns. No buffer of the parent may be flushed twice, hence _exit."""
    status = 3
    try:
        die_with_parent()
        faulthandler.disable()
        os.dup2(output.fileno(), 1)
        os.dup2(errors.fileno(), 2)
        _report(factory, role, seed, _emitter(writer))
        status = ExitCode.HOLDS
    except BaseException as error:
        with contextlib.suppress(BaseException):
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(status)


def _emitter(writer: int) -> Callable[[dict[str, Any]], None]:
    stream = os.fdopen(writer, "wb", buffering=0)

    def emit(event: dict[str, Any]) -> None:
        data = json.dumps(event).encode() + b"\n"
        while data:
            data = data[stream.write(data) or 0 :]

    return emit


def _report(factory: LinkFactory, role: Role, seed: int, emit: Callable[[dict[str, Any]], None]) -> None:
    def on_frame(frame: Frame) -> None:
        emit({"event": "frame", "time_us": frame.time_us, "packet": frame.packet.hex(), "sent": frame.sent})

    def new_capture() -> Capture:
        emit({"event": "attempt"})
        return WatchedCapture(on_frame)

    try:
        examined = examine(factory, role, seed, new_capture)
    except LinkUnavailableError as error:
        emit({"event": "unavailable", "why": str(error)})
        return
    account = examined.account
    row = {
        "stage": examined.stage,
        "reason": examined.reason,
        "heard": examined.heard,
        "profile": examined.profile.to_json(),
        "account": {
            "command": account.command,
            "exit_status": account.exit_status,
            "output": account.output,
            "errors": account.errors,
        },
    }
    emit({"event": "examined", "examined": row})
