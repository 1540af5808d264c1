# SPDX-License-Identifier: GPL-2.0-or-later
"""Examines one role in a child process: a library that crashes or hangs ends the child only, and network namespaces
stay the child's."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field, replace

from netblt_conformance.cases.case import Profile
from netblt_conformance.common.child import Child, Emit, Ending, Event, end_all, reporting, write_all
from netblt_conformance.common.errors import LinkUnavailableError
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


class _Examiner(Child):
    """Examines one role, and emits what it finds."""

    keeps_output = True
    longest_wait = 1

    def __init__(self, factory: LinkFactory, role: Role, seed: int, limit_s: float) -> None:
        self._factory = factory
        self._role = role
        self._seed = seed
        super().__init__(limit_s)
        self.began()

    def work(self, emit: Emit) -> None:
        try:
            _report(self._factory, self._role, self._seed, emit)
        except BaseException as error:
            write_all(2, f"{type(error).__name__}: {error}\n".encode())  # beside what the implementation printed
            raise


def look_at(factory: LinkFactory, role: Role, seed: int, limit_s: float = LIMIT_S) -> Findings:
    """One role. LinkUnavailableError when nothing can be tried here."""
    found = Findings(Examined(role, Stage.CRASHED))
    child = _Examiner(factory, role, seed, limit_s)
    try:
        while (events := child.events() if reporting([child]) else []) is not None:
            for event in events:
                _take(event, found)
    except BaseException:
        end_all([child])
        raise
    _settle(found, child.reap(), limit_s)
    return found


def _settle(found: Findings, ended: Ending, limit_s: float) -> None:
    """What only the end of the child shows, and what an implementation inside of it has printed."""
    examined, code = found.examined, ended.code
    if ended.overdue:
        examined.reason = f"hangs: the transfer is not over after {limit_s:g} s"
    elif code != ExitCode.HOLDS:
        examined.account = Account(exit_status=code)
        how = f"crashed with {signal.Signals(-code).name}" if code < 0 else f"ended the process, exit status {code}"
        examined.reason = how
    if not examined.account.command:
        account = examined.account
        output, errors = account.output or ended.output, account.errors or ended.errors
        examined.account = replace(account, output=output, errors=errors)


def _take(event: Event, found: Findings) -> None:
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


def _report(factory: LinkFactory, role: Role, seed: int, emit: Emit) -> None:
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
