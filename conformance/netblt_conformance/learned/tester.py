# SPDX-License-Identifier: GPL-2.0-or-later
"""The mapper: turns abstract inputs into packets of a scripted peer, calls of the client and time, and what the
implementation does into abstract outputs."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.model import MICROSECONDS_PER_MS, MICROSECONDS_PER_S, Status, Stop
from netblt_conformance.learned import outputs
from netblt_conformance.learned.alphabet import TIME, TIMES
from netblt_conformance.learned.themes import SMALL_PACKET, Theme
from netblt_conformance.learned.timing import Came, Timing
from netblt_conformance.links.base import NEVER_US
from netblt_conformance.packets.packets import Type, spoil
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.exchange import Seen

# Two packets of the tester are so close that no timer expires between them: in an unbroken sequence of inputs time
# does not count.
DELAY_US = 1
# A deadline within this is the pace of the data, or a message that waits for others, and belongs to the reaction.
PACE_US = 2 * MICROSECONDS_PER_MS
_PACED_ROUNDS = 20  # of an implementation that looks at its clock all the time
_DEATHS = 3  # so many death timers after which an end that is still there stays
_OTHER_VERSION, _UNKNOWN_TYPE = 9, 15
_CHANGED = {"burst_size": 1, "burst_interval_ms": 200}  # what a second RESPONSE has
_ACCEPTED = {"transfer_size", "max_buffers"}  # what a RESPONSE may have otherwise and still be accepted

# After the end of the connection only these arrive.
_LATE = frozenset(
    {"KEEPALIVE", "QUIT", "QUITACK", "ABORT", "REFUSED", "DONE", "NULL-ACK old", "CONTROL again", "DATA again"}
)

Action = Callable[[], bool]  # whether it was possible


class Tester(ABC):
    """The tester's end of one connection. An input returns the implementation's reaction."""

    def __init__(self, peer: ReceiverPeer | SenderPeer, theme: Theme) -> None:
        self._any_peer = peer
        self.theme = theme
        self._timing = Timing(theme.parameters.death_timer_s * MICROSECONDS_PER_S)
        self._link = peer.link
        data = peer.data if peer.role.sender else b""
        self._seen = outputs.Seen(peer.setting.iut_parameters, data)
        self._read = 0  # packets of the implementation that were made outputs of
        self._delivered_right: Callable[[], bool] = lambda: True
        self._actions: dict[str, Action] = {**self._common(), **self.actions()}

    # ---- what subclasses add ----

    @abstractmethod
    def actions(self) -> dict[str, Action]:
        """Inputs by name. An action sends packets and returns whether it was possible."""

    @abstractmethod
    def repeated(self) -> dict[str, tuple[str, ...]]:
        """Inputs that are other inputs, TIMES times."""

    @property
    @abstractmethod
    def next_buffer(self) -> int:
        """The number of the buffer that the next input is about."""

    @property
    def sent_seq(self) -> int:
        """The highest number such that the tester sent all messages up to it."""
        return 0

    def on_delivered(self, check: Callable[[], bool]) -> None:
        """`check`: whether the client of the implementation has received the right data."""
        self._delivered_right = check

    # ---- running ----

    def begin(self) -> str:
        """What the implementation does when it is started."""
        self._settle()
        return outputs.in_order(self._collect())

    def do(self, name: str) -> str:
        """One input of the alphabet, and the reaction."""
        if self._link.status().closed and name not in _LATE:
            return outputs.NOTHING
        if name == TIME:
            return self._pass_time()
        if name in self.repeated():
            return self._repeat(self.repeated()[name])
        count = len(self._link.capture.frames)
        if not self._actions[name]():
            return outputs.NOTHING
        if len(self._link.capture.frames) > count or name.startswith("client"):
            self._settle()
        came = self._came()
        self._timing.note(came)
        return outputs.in_order(one.output for one in came)

    def _repeat(self, names: Sequence[str]) -> str:
        """Until one of them brings nothing. Reactions that are alike but for the number of their buffer: once."""
        found: list[str] = []
        for _ in range(TIMES):
            buffer = self.next_buffer
            reactions = [outputs.relative(self.do(name), buffer) for name in names]
            found.append(outputs.JOINED.join(reaction for reaction in reactions if reaction != outputs.NOTHING))
            if outputs.NOTHING in reactions:
                break
        return outputs.in_order(filter(None, found))

    def listen(self, span_us: int) -> list[str]:
        """What comes by itself in this time."""
        self._any_peer.listen(span_us)
        return self._collect()

    def _settle(self) -> None:
        """Goes on until nothing more comes of what has happened. Timers are longer than this."""
        peer, link = self._any_peer, self._link
        for _ in range(_PACED_ROUNDS):
            peer.listen(2 * link.delay_us + 1)
            deadline_us = link.deadline_us()
            if deadline_us is None or deadline_us - peer.now_us > PACE_US:
                break
            peer.listen(max(0, deadline_us - peer.now_us) + 1)
        self._after_packets()

    def _after_packets(self) -> None:
        """The RESPONSE of a passive end opens the connection for the tester as well."""
        peer = self._any_peer
        if not peer.role.active and peer.agreed is None and peer.responses:
            response = peer.responses[0].packet
            peer.settle(response, response.death_timer_s)
            peer.go_silent()

    def _collect(self) -> list[str]:
        """The outputs of what came since the last time."""
        return [text for _, text, _ in self._came()]

    def _came(self) -> list[Came]:
        """The same with times and packets."""
        peer, link = self._any_peer, self._link
        found = [Came(seen.time_us, self._text(seen), seen.packet) for seen in peer.seen[self._read :]]
        self._read = len(peer.seen)
        if link.tells_outcome and (text := self._seen.status_text(link.status(), self._delivered_right())):
            found.append(Came(peer.now_us, text + self._other_string(), None))
        return found

    def _other_string(self) -> str:
        """Whether the client got to know another client string than the tester sent."""
        string, wanted = self._link.peer_string(), self._any_peer.parameters.client_string
        opens = self._link.status() is Status.OPEN
        return " with another string" if opens and string not in (None, wanted) else ""

    def _text(self, seen: Seen) -> str:
        peer, text = self._any_peer, self._seen.text(seen.packet, self.sent_seq)
        if seen.packet.foreign_port != peer.own_port:
            return f"{text} (to another port)"
        if seen.packet.type is Type.RESPONSE and seen.packet.unique_id != peer.unique_id:
            return f"{text} (another ID)"
        return text

    def _pass_time(self) -> str:
        """Until something new comes; what is only repeated until then, or until the connection ends, is there once.
        With it comes what the times prove."""
        link, peer = self._link, self._any_peer
        death_us = self.theme.parameters.death_timer_s * MICROSECONDS_PER_S
        end_us = peer.now_us + _DEATHS * death_us
        came: list[Came] = []
        while peer.now_us < end_us:
            deadline_us = link.deadline_us()
            if deadline_us is None or deadline_us == NEVER_US or link.over:
                break
            peer.listen(min(end_us, max(peer.now_us, deadline_us)) - peer.now_us + link.delay_us + 1)
            newest = self._came()
            came += newest
            if link.status().closed or any(outputs.is_new(one.output) for one in newest):
                self._settle()
                came += self._came()
                break
        marks = self._timing.marks(came, peer.now_us, peer.last_sent_us, closed=link.status().closed)
        return outputs.as_set([one.output for one in came], marks if self.theme.times else ())

    # ---- inputs that both ends have ----

    def _common(self) -> dict[str, Action]:
        actions: dict[str, Action] = {
            "KEEPALIVE": lambda: self._send(self._any_peer.forge.packet(Type.KEEPALIVE)),
            "QUITACK": lambda: self._send(self._any_peer.forge.packet(Type.QUITACK)),
            "QUIT": lambda: self._send(self._reason(Type.QUIT)),
            "QUIT silent": lambda: self._send(self._any_peer.forge.reason(Type.QUIT, "")),
            "ABORT": lambda: self._send(self._reason(Type.ABORT)),
            "REFUSED": lambda: self._send(self._reason(Type.REFUSED)),
            "QUIT damaged": lambda: self._send(spoil(self._reason(Type.QUIT))),
            "QUIT other version": lambda: self._send(self._reason(Type.QUIT, version=_OTHER_VERSION)),
            "QUIT other port": lambda: self._send(self._reason(Type.QUIT, local_port=self._any_peer.own_port + 1)),
            "type 15": lambda: self._send(self._any_peer.forge.packet(_UNKNOWN_TYPE)),
            "OPEN other ID": lambda: self._open_other(self._other_id),
            "client quits": lambda: self._stop(Stop.QUIT),
            "client aborts": lambda: self._stop(Stop.ABORT),
        }
        if self._any_peer.role.active:
            actions["RESPONSE"] = lambda: self._respond()
            actions["RESPONSE other ID"] = lambda: self._respond(unique_id=self._other_id)
            actions["RESPONSE other half"] = lambda: self._respond(unique_id=self._other_half)
            larger = 2 * self.theme.parameters.buffer_size
            actions["RESPONSE larger"] = lambda: self._respond(buffer_size=larger)
            actions["RESPONSE one buffer"] = lambda: self._respond(max_buffers=1)
            actions["RESPONSE announcing"] = lambda: self._respond(**self._announcing())
            actions["RESPONSE small packets"] = lambda: self._respond(packet_size=SMALL_PACKET)
            actions["RESPONSE changed"] = lambda: self._any_peer.agreed is not None and self._respond(**_CHANGED)
        else:
            opening = self._any_peer.opening_values()
            actions["OPEN"] = lambda: self._open()
            actions["OPEN other half"] = lambda: self._open_other(self._other_half)
            actions["OPEN small packets"] = lambda: self._open(packet_size=SMALL_PACKET)
            actions["OPEN other port"] = lambda: self._send(
                dataclasses.replace(self._any_peer.forge, foreign_port=self._any_peer.iut_port + 1).opening(
                    Type.OPEN, opening
                )
            )
            actions["OPEN announcing"] = lambda: self._open(**self._announcing())
            actions["OPEN wrong way"] = lambda: self._open(flags=opening.flags ^ 1)
        return actions

    def _send(self, packet: bytes) -> bool:
        self._any_peer.send(packet)
        return True

    def _reason(self, kind: Type, **other: int) -> bytes:
        return dataclasses.replace(self._any_peer.forge, **other).reason(kind, "tester")

    def _stop(self, how: Stop) -> bool:
        try:
            self._link.stop(how, "client")
        except NotSupportedError:
            return False
        return True

    def _announcing(self) -> dict[str, int]:
        return {"transfer_size": self.theme.length - 1}

    def _open(self, **override: int) -> bool:
        """Not once the client knows the end: then it would be the next connection."""
        if self._link.status() not in (Status.OPENING, Status.OPEN):
            return False
        self._any_peer.send_open(**override)
        return True

    def _open_other(self, unique_id: int) -> bool:
        return self._any_peer.agreed is not None and self._open(unique_id=unique_id)

    @property
    def _other_id(self) -> int:
        return (self._any_peer.unique_id + 1) % 2**32

    @property
    def _other_half(self) -> int:
        """An ID of which the lower half is right."""
        return self._any_peer.unique_id ^ 0x10000

    def _respond(self, **override: int) -> bool:
        """Accepts the OPEN; with other values the implementation may have to ignore it, so nothing is settled."""
        peer = self._any_peer
        if not peer.opens:
            return False
        opening = peer.opens[-1].packet
        peer.version, peer.iut_port, peer.unique_id = opening.version, opening.local_port, opening.unique_id
        peer.monitor.session.iut_port = peer.iut_port
        accepts = not override.keys() - _ACCEPTED
        if override and not (accepts and peer.agreed is None):
            peer.send_response(**override)
        elif peer.agreed is None:
            peer.respond(**override)
            peer.go_silent()
        else:
            peer.send_response()
        return True
