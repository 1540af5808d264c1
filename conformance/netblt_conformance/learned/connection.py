# SPDX-License-Identifier: GPL-2.0-or-later
"""One connection of an implementation in one role, driven by abstract inputs: for learning without the oracles, for a
case with them."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from netblt_conformance.cases.case import Case, Profile
from netblt_conformance.common.errors import ImplementationError, NotSupportedError
from netblt_conformance.common.model import Digest, Feature, Parameters
from netblt_conformance.learned import outputs
from netblt_conformance.learned.receiving import ReceivingTester
from netblt_conformance.learned.sending import SendingTester
from netblt_conformance.learned.tester import Tester
from netblt_conformance.learned.themes import Part, stall
from netblt_conformance.links.base import LinkFactory
from netblt_conformance.oracles.session import Session
from netblt_conformance.packets.capture import Capture, Frame

_SEED = 1  # of ports, IDs and data: the same in each connection, so that its packets are


class _NoCapture(Capture):
    """Notes when packets were sent, and nothing else."""

    def add(self, time_us: int, payload: bytes, source: bytes, destination: bytes, *, sent: bool) -> int:
        del payload, source, destination
        self.frames.append(Frame(time_us, b"", sent))
        return len(self.frames) - 1


class _NoMonitor:
    """In place of the oracles: to learn is to look, not to judge."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def sent(self, *_: Any) -> None: ...

    def received(self, *_: Any) -> None: ...

    def report(self, *_: Any) -> None: ...


class Connection:
    """A context manager. After a crash of the implementation every reaction is nothing."""

    def __init__(self, factory: LinkFactory, part: Part, profile: Profile, *, judged: bool = False) -> None:
        """`judged`: with capture and oracles. NotSupportedError when the implementation does not play the role, or its
        client cannot do what the theme asks for."""
        self.capture = Capture() if judged else _NoCapture()
        self.fault = ""  # how the implementation crashed
        self.case = Case("learned", (), part.role, "stimulus", factory.make(self.capture), _SEED, profile)
        try:
            self._tester = _tester(self.case, part, judged=judged)
            self.began = self._guarded(self._tester.begin)
        except BaseException:
            self.case.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.case.close()

    @property
    def tester(self) -> Tester:
        return self._tester

    def do(self, name: str) -> str:
        """The reaction to an input."""
        return outputs.NOTHING if self.fault else self._guarded(lambda: self._tester.do(name))

    def _guarded(self, action: Any) -> str:
        try:
            return str(action())
        except ImplementationError as fault:
            self.fault = str(fault)
            return outputs.CRASH


def _tester(case: Case, part: Part, *, judged: bool) -> Tester:
    theme = part.theme
    if theme.stalls and Feature.CLIENT_STALL not in case.link.features:
        raise NotSupportedError("its client cannot be made to stall")
    options: dict[str, Any] = {
        name: getattr(theme.parameters, name) for name in Parameters.__slots__ if name not in _OWN
    }
    options["iut"] = stall(theme)
    if not case.link.tester_string(case.role):
        options["own"] = {"client_string": _CLIENT_STRING}
    if case.role.sender:
        receiver = case.receiver(theme.length, **options)
        _unjudged(receiver, judged=judged)
        return ReceivingTester(receiver, theme)
    sender = case.sender(theme.length, **options)
    _unjudged(sender, judged=judged)
    tester = SendingTester(sender, theme)
    right = Digest.of(sender.data)
    tester.on_delivered(lambda: case.link.digest() == right)
    return tester


_CLIENT_STRING = "the client of the tester"
# What Case sets by itself, or what stays at its default.
_OWN = frozenset({"version", "client_string", "client_stall_from", "client_stall_until_us"})


def _unjudged(peer: Any, *, judged: bool) -> None:
    if not judged:
        peer.monitor = _NoMonitor(peer.monitor.session)
