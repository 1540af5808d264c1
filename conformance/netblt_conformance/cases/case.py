# SPDX-License-Identifier: GPL-2.0-or-later
"""What a case is written with: preamble, stimulus, legal outcomes. See docs/links.md for the vocabulary."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar

import pytest

from netblt_conformance.catalogue import catalogue
from netblt_conformance.catalogue.catalogue import DIALECTS, Requirement
from netblt_conformance.common import tolerances
from netblt_conformance.common.errors import HarnessError, ImplementationError, NotSupportedError
from netblt_conformance.common.model import ALL_ROLES, MICROSECONDS_PER_S, Digest, Feature, Parameters, Role, Start
from netblt_conformance.common.sizes import Limits, Sizes
from netblt_conformance.common.tolerances import Tolerances
from netblt_conformance.common.verdicts import AGAINST, RUNS_ON, Cause, Judgement, Verdict
from netblt_conformance.common.waits import Awaited, DecidedError, PostponedError
from netblt_conformance.links.base import IUT_ADDRESS, TESTER_ADDRESS, Link
from netblt_conformance.oracles import Monitor
from netblt_conformance.oracles.base import Violation
from netblt_conformance.oracles.session import Session
from netblt_conformance.packets.dialect import RFC998, Dialect
from netblt_conformance.packets.packets import Type
from netblt_conformance.packets.spelling import PLAIN, Covers, Spelling
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.exchange import Seen, Setting, UnmetError

__all__ = ["ACTIVE", "ALL_ROLES", "PASSIVE", "RECEIVERS", "SENDERS", "Case", "case"]

MARKER = "netblt"
DELIVERY, COMPLETENESS = "DATA-08", "CTRL-14"
# The areas of cases in which no packet of data is wrong.
TRUE_DATA = ("CTRL-", "RESEND-", "TIMER-", "R1030-")
OVERHANG_MOST = 3  # zeros of padding that may count as data at the very end (AMB-02)

ACTIVE = tuple(role for role in ALL_ROLES if role.active)
PASSIVE = tuple(role for role in ALL_ROLES if not role.active)
SENDERS = tuple(role for role in ALL_ROLES if role.sender)
RECEIVERS = tuple(role for role in ALL_ROLES if not role.sender)

_Function = TypeVar("_Function", bound=Callable[..., Any])


def case(
    *requirements: str,
    roles: tuple[Role, ...] = ALL_ROLES,
    control: bool = False,
    needs: tuple[Feature, ...] = (),
    variants: tuple[str, ...] = ("",),
    kills_nothing: str = "",
    dialects: tuple[str, ...] = DIALECTS,
) -> Callable[[_Function], _Function]:
    """Declares a case: the requirements it judges (the first grades it), the roles it binds, whether a control arm
    (the same exchange without the stimulus) exists, what it needs of link and implementation, its variants, for the few
    cases that no mutant of the reference can fail, why, and in which dialects its exchange means something (of those in
    which all its requirements hold)."""
    mark = getattr(pytest.mark, MARKER)(
        *requirements,
        roles=roles,
        control=control,
        needs=needs,
        variants=variants,
        kills_nothing=kills_nothing,
        dialects=dialects,
    )

    def declare(function: _Function) -> _Function:
        mark(function)
        return function

    return declare


@dataclasses.dataclass(frozen=True, slots=True)
class Profile:
    """What the implementation chose where the specification is silent; found by a first transfer in each role."""

    first_buffer: int = 0  # AMB-09: the number of the first GO that a sender serves
    version: int = 2  # AMB-01: the version byte that a passive end answers
    spelling: Spelling = PLAIN  # AMB-04, AMB-10
    works: bool = False  # whether the first transfer succeeded
    latency_us: int = 0  # in virtual time: how long it holds a reaction at least

    def to_json(self) -> dict[str, Any]:
        spelling = {"first_packet": self.spelling.first_packet, "covers": self.spelling.covers.name}
        return {**dataclasses.asdict(self), "spelling": spelling}

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Profile:
        spelling = Spelling(row["spelling"]["first_packet"], Covers[row["spelling"]["covers"]])
        return cls(**{**row, "spelling": spelling})


class Case:
    """One run of one case: one role, one arm, one fresh implementation."""

    def __init__(
        self,
        name: str,
        judged: tuple[Requirement, ...],
        role: Role,
        arm: str,
        link: Link,
        seed: int,
        profile: Profile,
        variant: str = "",
        dialect: Dialect = RFC998,
        limits: Limits | None = None,
    ) -> None:
        """`limits`: sizes that the implementation is known to agree to, when it has restricted those of the case."""
        self.name = name
        self.dialect = dialect
        self.limits = limits
        if profile.latency_us:
            link.tolerances = link.tolerances.slowed(profile.latency_us)
        self.variant = variant
        self.judged = judged
        self.is_script = False  # one that generate wrote
        self.role = role
        self.arm = arm
        self.stimulus = arm == "stimulus"
        self.link = link
        self.profile = profile
        self.seed = seed  # of the run
        self.random = random.Random(f"{seed} {name} {variant} {role}")
        self.judgement = Judgement()
        self.observed: dict[str, str] = {}
        self.monitors: list[Monitor] = []
        self.last_note = ""
        self.on_note: Callable[[str], None] = lambda _text: None
        self.postponed: Awaited | None = None  # what it waited for when the supervisor ended it
        self._in_preamble = False
        self._receiver: ReceiverPeer | None = None  # the newest one
        self._own_port = self._iut_port = 0
        self._started = False

    @property
    def tolerances(self) -> Tolerances:
        """The times that this run allows the implementation."""
        return self.link.tolerances

    @property
    def test_id(self) -> str:
        """What the implementation gets, and what --select and the report call it."""
        title = self.name + (f": {self.variant}" if self.variant else "")
        return f"{title}[{self.role}{'' if self.stimulus else '-' + self.arm}]"

    # ---- making both ends ----

    def make_data(self, length: int) -> bytes:
        """Bytes that differ everywhere: swapped packets or buffers change the digest."""
        return self.random.randbytes(length)

    def receiver(self, data: int | bytes = 4096, **options: Any) -> ReceiverPeer:
        """Starts a sending implementation, with this or so many bytes to send; returns the tester's receiving end."""
        if not self.role.sender:
            raise HarnessError("this case requires a receiving peer, but the implementation receives")
        self._receiver = ReceiverPeer(self._begin(data, **options))
        return self._receiver

    def sender(self, data: int | bytes = 4096, **options: Any) -> SenderPeer:
        """Starts a receiving implementation. Returns the tester's sending end, which has this or so many bytes to
        send."""
        if self.role.sender:
            raise HarnessError("this case requires a sending peer, but the implementation sends")
        return SenderPeer(self._begin(data, **options))

    def peer(self, length: int = 4096, **options: Any) -> ReceiverPeer | SenderPeer:
        """The tester's end, whichever the role asks for."""
        return self.receiver(length, **options) if self.role.sender else self.sender(length, **options)

    def _port(self, *taken: int) -> int:
        while True:
            port = self.random.randrange(20_000, 60_000)
            if port not in taken:
                return port

    def _begin(
        self,
        stated: int | bytes,
        iut: dict[str, Any] | None = None,
        own: dict[str, Any] | None = None,
        same_ports: bool = False,  # as the implementation that this case started before, which ends now
        **both: Any,
    ) -> Setting:
        sizes = Sizes.within(Parameters(**both), self.limits)
        common = sizes.made
        data = self.make_data(sizes.scaled(stated)) if isinstance(stated, int) else stated
        ours = {"version": self.profile.version, "client_string": self.link.tester_string(self.role), **(own or {})}
        own_parameters = dataclasses.replace(common, **ours)
        iut_parameters = dataclasses.replace(common, **(iut or {}))
        fixed = self.link.fixed_port(self.role)
        if not same_ports:
            self._own_port = fixed if fixed and self.role.active else self._port()
            self._iut_port = fixed if fixed and not self.role.active else self._port(self._own_port)
        own_port = self._own_port
        setting = self._setting(data, own_parameters, iut_parameters, own_port, sizes)
        self.link.start(
            Start(
                role=self.role,
                parameters=iut_parameters,
                local_address=IUT_ADDRESS,
                foreign_address=TESTER_ADDRESS,
                local_port=self._iut_port,
                foreign_port=own_port if self.role.active else 0,
                seed=self.random.getrandbits(63),
                test_id=self.test_id,
                data=data if self.role.sender else b"",
            )
        )
        self._started = True
        return setting

    def again(self, peer: ReceiverPeer | SenderPeer, unique_id: int | None = None) -> ReceiverPeer | SenderPeer:
        """The tester's end of another connection between the same ports, with a unique ID of its own or this one."""
        own, iut = peer.parameters, peer.setting.iut_parameters
        setting = self._setting(peer.data, own, iut, peer.own_port, peer.setting.sizes, peer.monitor)
        setting = dataclasses.replace(setting, unique_id=setting.unique_id if unique_id is None else unique_id)
        return type(peer)(setting)

    def _setting(
        self,
        data: bytes,
        parameters: Parameters,
        iut_parameters: Parameters,
        own_port: int,
        sizes: Sizes,
        earlier: Monitor | None = None,
    ) -> Setting:
        to_send = data if self.role.sender else None
        link = self.link
        session = Session(self.role, own_port, self._iut_port, link.delay_us, link.real_time, self.tolerances, to_send)
        monitor = Monitor(session, earlier, self.dialect.foreign)
        self.monitors.append(monitor)
        return Setting(
            link=self.link,
            role=self.role,
            iut_port=self._iut_port,
            own_port=own_port,
            iut_address=IUT_ADDRESS,
            parameters=parameters,
            iut_parameters=iut_parameters,
            unique_id=self.random.getrandbits(32),
            first_buffer=self.profile.first_buffer,
            spelling=self.profile.spelling,
            data=data,
            monitor=monitor,
            sizes=sizes,
            dialect=self.dialect,
        )

    # ---- judging ----

    @contextlib.contextmanager
    def preamble(self) -> Iterator[None]:
        """Until the stimulus can be given nothing is judged: what goes wrong makes the case inconclusive."""
        self._in_preamble = True
        try:
            yield
        finally:
            # An exception leaves the flag set: the verdict is made of it further out.
            pass
        self._in_preamble = False

    @property
    def grade(self) -> Verdict:
        """What breaking the first requirement means: must = FAIL, should = WARN. A script has to end well."""
        strength = self.judged[0].grade if self.judged and not self.is_script else "must"
        return {"must": Verdict.FAIL, "should": Verdict.WARN, "may": Verdict.WARN}[strength]

    def must(
        self,
        holds: bool,
        seen: str,
        frame: int | None = None,
        cause: Cause = Cause.JUDGEMENT,
        violated: str = "",
        *,
        expected: str = "",
    ) -> None:
        """Ends the case with FAIL when it does not hold. `seen`: what the implementation did then. `cause`: ABSENCE
        when something did not come. `violated`: the requirement of the case that this is about, or DATA-08, which any
        transfer can prove; empty: the first one. `expected`: what it had to do; empty: the title of the requirement."""
        if not holds:
            self._accuse(Verdict.FAIL, seen, frame, cause, violated, expected)
            raise CaseOverError

    def should(
        self, holds: bool, seen: str, frame: int | None = None, violated: str = "", *, expected: str = ""
    ) -> None:
        """Notes a WARN and goes on when it does not hold; the rest as for must()."""
        if not holds:
            self._accuse(Verdict.WARN, seen, frame, Cause.JUDGEMENT, violated, expected)

    def _accuse(
        self, verdict: Verdict, seen: str, frame: int | None, cause: Cause, violated: str, expected: str
    ) -> None:
        if violated not in ("", DELIVERY) and all(violated != one.id for one in self.judged):
            raise ValueError(f"{violated} is no requirement of this case")
        if self.judgement.worsen(verdict, seen, frame, cause, expected=expected or self._demand(violated)):
            self.judgement.requirement = violated

    def _demand(self, identifier: str = "") -> str:
        """What is expected by a requirement of the case; empty: by the first one, or, of a case without any, by all."""
        identifier = identifier or (self.judged[0].id if self.judged else "")
        return catalogue.demand(identifier) if identifier else "a transfer as RFC 998 describes it"

    def observe(self, name: str, value: object) -> None:
        """Reports a choice that the specification leaves open: `observed_as` of catalogue/ambiguities.toml, or a name
        of its own."""
        self.observed[name] = str(value)

    def inconclusive(self, seen: str, frame: int | None = None, *, expected: str) -> NoReturn:
        """Ends the case: what it waits for has not come yet, and to wait longer would show nothing."""
        self.judgement.worsen(Verdict.INCONC, seen, frame, Cause.ABSENCE, expected=expected)
        raise CaseOverError

    def note(self, text: str) -> None:
        """What is done now: when the implementation dies of it, the verdict states it."""
        self.last_note = text
        self.on_note(text)

    def provokes(self, *requirements: str) -> None:
        """The tester itself breaks what these invariants rest on: they are not watched in this case."""
        for monitor in self.monitors:
            monitor.disabled.update(requirements)

    def expect_delivered(self, data: bytes) -> None:
        """The implementation's client received exactly `data`. If not, a case without DATA-08 is about a stimulus that
        must not change them, so this violates the requirement of the case; but not where it is about times and messages
        alone, and every packet of data is true. Where this cannot be known, only a case that is about DATA-08 reports
        it: others have their proof in the packets."""
        known = [one.id for one in self.judged]
        true = all(one.startswith(TRUE_DATA) for one in known) and COMPLETENESS not in known
        self._expect_delivered(data, DELIVERY if DELIVERY in known or true else "")

    def expect_intact(self, received: bytes | None, data: bytes) -> None:
        """A transfer without a stimulus that could change its data: exactly `data` came to the tester or, with None, to
        the implementation's client. Other data prove DATA-08, whatever the case is about."""
        if received is None:
            self._expect_delivered(data, DELIVERY)
            return
        overhang = received[len(data) :]
        same = received[: len(data)] == data and len(overhang) <= OVERHANG_MOST and not any(overhang)
        wanted = f"the {len(data)} bytes that were to be sent"
        self.must(same, f"other data came: {len(received)} bytes", violated=DELIVERY, expected=wanted)

    def _expect_delivered(self, data: bytes, violated: str) -> None:
        try:
            digest, wanted = self.link.digest(), Digest.of(data)
        except NotSupportedError:
            if self.judged[0].id == DELIVERY:
                raise
            return
        self.must(digest == wanted, f"delivered {digest}", violated=violated, expected=f"{wanted}, which were sent")

    def expect_delivered_by(self, peer: SenderPeer) -> None:
        """The transfer succeeds and delivers exactly the peer's data."""
        peer.expect_success()
        self.expect_delivered(peer.data)

    def was_aborted(self, peer: ReceiverPeer | SenderPeer, what: str, violated: str = "") -> bool:
        """Whether the implementation takes what the tester did for a malfunction and aborts. RFC 998 5.3.3 allows it at
        any time: a WARN, for one wrong packet ends the transfer then (AMB-71)."""
        peer.listen(tolerances.QUIET_US)
        aborts = [seen for seen in peer.seen if seen.packet.type is Type.ABORT]
        self.observe("an impossible packet is", "a reason to ABORT" if aborts else "ignored")
        frame, expected = aborts[0].frame if aborts else None, "a transfer that goes on (AMB-71)"
        self.should(not aborts, f"ABORT answers {what}", frame, violated, expected=expected)
        if aborts:
            wrong = "success was reported for a transfer that was aborted"
            self.must(not self._tells_success(), wrong, expected="failure to be reported to the client")
        return bool(aborts)

    def _tells_success(self) -> bool:
        return self.link.tells_outcome and self.link.status().succeeded

    def expect_transferred(self, peer: ReceiverPeer | SenderPeer) -> None:
        """The transfer, which is over on the wire, ended like any other. Its client may call it a failure all the same:
        whether the announced size was the right one is for the client alone (RFC 998 3, 8; AMB-15)."""
        if self.link.tells_outcome:
            peer.expect_closed()
        aborts = [seen for seen in peer.seen if seen.packet.type is Type.ABORT]
        frame, expected = aborts[0].frame if aborts else None, "a transfer that ends like any other"
        self.must(not aborts, "ABORT ended a transfer that was complete", frame, expected=expected)
        rejected = self.link.tells_outcome and self.link.status().failed
        self.observe("the client calls a transfer of another size than announced", "failed" if rejected else "complete")
        if isinstance(peer, SenderPeer) and not rejected:
            self.expect_delivered(peer.data)

    def expect_signs_of_life(self, heard: list[Seen], began_us: int, ended_us: int, declared_s: int) -> None:
        """TIMER-11, AMB-51: what came from an end with nothing to send keeps the declared death timer from expiring;
        that several packets may be lost meanwhile is a should."""
        moments = [began_us, *(seen.time_us for seen in heard), ended_us]
        longest_us = max(after - before for before, after in itertools.pairwise(moments))
        text = f"nothing came for {longest_us / MICROSECONDS_PER_S:g} s"
        expected = f"a packet before the declared death timer of {declared_s} s expires"
        self.must(longest_us < declared_s * MICROSECONDS_PER_S, text, expected=expected)
        # Three in each period, wherever the window begins: one may lie before it.
        span_us = ended_us - began_us
        least = 3 * span_us // (declared_s * MICROSECONDS_PER_S) - 1
        text = f"{len(heard)} packets in {span_us / MICROSECONDS_PER_S:g} s"
        self.should(len(heard) >= least, text, expected=f"3 packets in each {declared_s} s (AMB-51)")

    def require_death_timer(self, peer: ReceiverPeer | SenderPeer) -> None:
        self.must(
            peer.terms.iut_death_timer_s > 0,
            "the implementation declared a death timer of 0",
            expected="a death timer that is greater than zero",
        )

    def expect_death(self, peer: ReceiverPeer | SenderPeer, meanwhile: Callable[[], None] | None = None) -> bool:
        """The tester is silent: the implementation gives the connection up. A receiver, whose CONTROLs no end
        acknowledges, must (RFC 998 5.2.1); a sender "can" (5.2.3): False, and a WARN, for one that stays (AMB-65)."""
        try:
            peer.expect_failure(tolerances.death_max_us(peer.terms.iut_death_timer_s), meanwhile)
        except UnmetError as unmet:
            if not self.role.sender or self.link.status().succeeded:
                raise
            self.observe("at the expiry of the death timer", "it stays open")
            self.should(False, unmet.seen, unmet.frame, expected=f"{unmet.expected} (AMB-65)")
            return False
        self.observe("at the expiry of the death timer", "it closes")
        return True

    @staticmethod
    def run_first_buffer(peer: ReceiverPeer | SenderPeer) -> None:
        """Transfers buffer 0, so that what follows happens in the middle of a transfer."""
        if isinstance(peer, ReceiverPeer):
            peer.go(0)
            peer.expect_buffer(0)
        else:
            peer.expect_go(0)
            peer.send_buffer(0)
            peer.expect_ok(0)

    # ---- running ----

    def run(self, function: Callable[[], object]) -> None:
        """Runs the body and turns whatever it raises into the verdict."""
        try:
            function()
        except (CaseOverError, DecidedError):
            pass
        except PostponedError as postponed:
            self.postponed = postponed.awaited
            expected = postponed.awaited.value
            self.judgement.worsen(Verdict.INCONC, "ended while it waited", cause=Cause.ABSENCE, expected=expected)
        except UnmetError as unmet:
            self._judge_unmet(unmet)
        except ImplementationError as fault:
            after = f", after {self.last_note}" if self.last_note else ""
            what = f"the implementation {fault}{after}"
            self.judgement.worsen(Verdict.FAIL, what, cause=Cause.CRASH, expected=RUNS_ON)
        except NotSupportedError:
            raise
        except HarnessError as fault:
            self.judgement.worsen(Verdict.ERROR, str(fault), cause=Cause.SUITE)
        except Exception as error:
            self.judgement.worsen(Verdict.ERROR, f"{type(error).__name__} in the suite: {error}", cause=Cause.SUITE)
            raise

    def _judge_unmet(self, unmet: UnmetError) -> None:
        """A transfer that never ends is a FAIL, also where the case is about a should or a may; not where the tester
        has sent what it must not send, and only a should protects from it (ROBUST). NotSupportedError where a sender
        has one buffer under way at a time, which RFC 998 5.2 allows, and the exchange needs more."""
        if self._sends_one_at_a_time():
            raise NotSupportedError("it sends no buffer before the one before it has its OK (AMB-79)") from None
        verdict = Verdict.INCONC if self._in_preamble else self.grade
        is_robustness = bool(self.judged) and self.judged[0].area == "ROBUST"
        stalls = verdict is Verdict.WARN and unmet.awaited is Awaited.TRANSFER and not is_robustness
        if stalls:
            verdict = Verdict.FAIL
        self.judgement.worsen(verdict, unmet.seen, unmet.frame, unmet.cause, unmet.due_by, expected=unmet.expected)
        if stalls:
            self.judgement.requirement = DELIVERY

    def _sends_one_at_a_time(self) -> bool:
        if self._receiver is None or self.is_script:
            return False
        try:
            return self._receiver.begins_after_ok() and self._waits_in_a_plain_transfer()
        except (ImplementationError, HarnessError, UnmetError):
            return False

    def _waits_in_a_plain_transfer(self) -> bool:
        """Without any stimulus a buffer waits for the OK of the one before, too."""
        peer = self.receiver(2048, buffer_size=1024, max_buffers=2)
        peer.connect()
        peer.go(0, 1)
        peer.expect_buffer(0)
        peer.listen(self.tolerances.reaction_max_us)
        return not peer.buffer(1).packets and peer.begins_after_ok()

    def close(self) -> None:
        """Ends the implementation: what it does while it ends belongs to the case."""
        try:
            self.link.close()
        except ImplementationError as fault:
            self.judgement.worsen(Verdict.FAIL, f"the implementation {fault}", cause=Cause.CRASH, expected=RUNS_ON)

    @property
    def _own(self) -> set[str]:
        return {requirement.id for requirement in self.judged}

    @property
    def is_decided(self) -> bool:
        """Whether the case has failed, whatever follows: by its own judgement or by an oracle for what it judges."""
        own = self._own
        found = (violation for monitor in self.monitors for violation in self._judged(monitor))
        broken = any(violation.verdict is Verdict.FAIL and violation.requirement in own for violation in found)
        return broken or self.judgement.verdict >= Verdict.FAIL

    def settle(self) -> list[Violation]:
        """Merges what the monitors saw. Answers the violations of requirements that this case does not judge."""
        own = self._own
        others: list[Violation] = []
        for monitor in self.monitors:
            monitor.finish()
            for violation in self._judged(monitor):
                if violation.requirement in own:
                    self.judgement.take_violation(violation.requirement, violation.judgement)
                else:
                    others.append(violation)
        self._explain_absence(others)
        return others

    def _judged(self, monitor: Monitor) -> list[Violation]:
        """What a monitor saw. Where packets were dropped before the implementation could read them, nothing is judged
        that supposes an arrival."""
        all_read = self.link.dropped_packets == 0
        return [violation for violation in monitor.violations if all_read or not violation.check.arrival]

    def _explain_absence(self, others: list[Violation]) -> None:
        """What did not come for an unknown reason was due by the violation that an oracle found in the same run, where
        that can stop a transfer."""
        judgement = self.judgement
        found = [one for one in others if one.check.stalls and one.verdict is Verdict.FAIL]
        if found and judgement.verdict in AGAINST and judgement.cause is Cause.ABSENCE and not judgement.due_by:
            judgement.due_by = found[0].requirement


class CaseOverError(Exception):
    """The verdict is recorded; the rest of the body is not needed."""
