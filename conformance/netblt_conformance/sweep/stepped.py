# SPDX-License-Identifier: GPL-2.0-or-later
"""Sweeps of single faults for an implementation that is stepped from Python (the pipe link), against the reference.

The sim link sweeps all pairs of faults with a loop in C; every step over a pipe costs two process switches, so here
each fault comes alone. Everything happens in virtual time and comes out the same every time."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from netblt_conformance.common import paths
from netblt_conformance.common.errors import HarnessError, ImplementationError, JudgeError, NotSupportedError
from netblt_conformance.common.model import Digest, Parameters, Role, Start
from netblt_conformance.common.verdicts import Cause, Judgement, Origin, Result, Verdict
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.links.base import NEVER_US
from netblt_conformance.links.virtual import STUCK_STEPS, SteppedEndpoint
from netblt_conformance.packets import ipv4
from netblt_conformance.simlib import CaptureDirection, Direction, Flakeway, Iut, IutLibrary, IutParams, PcapngWriter
from netblt_conformance.sweep import faults
from netblt_conformance.sweep.faults import Schedule
from netblt_conformance.sweep.one import (
    DEATH_TIMER_S,
    EXPECTED,
    LATENCY,
    LIMIT_PACKETS,
    LIMIT_US,
    Bench,
    Client,
    addresses,
    judge_closed,
    run,
)
from netblt_conformance.sweep.transfers import TRANSFERS, Transfer
from netblt_conformance.trace.build import IMPLEMENTATION

REQUIREMENTS = ["DATA-08", "RESEND-04", "CLOSE-01", "CLOSE-02"]
# Crashes and hangs after which the rest of a transfer and role is left alone: it would show nothing new.
BREAKS_MAX = 3
FAILURES_KEPT = 10
_OURS, _THEIRS = 1001, 1002  # NETBLT ports, as in the sweeps of the sim link


def _packed(address: str) -> bytes:
    return bytes(int(part) for part in address.split("."))


class _Pair:
    """The implementation (A), the reference (B), the flakeway between them, and the clock."""

    def __init__(self, endpoint: SteppedEndpoint, reference: Iut, flakeway: Flakeway, number: int) -> None:
        self.endpoint = endpoint
        self.reference = reference
        self._flakeway = flakeway
        self._here, self._there = (_packed(address) for address in addresses(number))
        self.now_us = 0
        self.packets = 0
        self.seen: list[tuple[int, bytes, bool]] = []  # at the implementation: when, what, sent by it

    def _from_endpoint(self, output: Sequence[tuple[bytes, bytes]]) -> None:
        for _, packet in output:
            self.packets += 1
            self.seen.append((self.now_us, packet, True))
            self._flakeway.offer(Direction.A_TO_B, packet, self.now_us)

    def _from_reference(self) -> None:
        for packet in self.reference.outputs(self.now_us):
            self.packets += 1
            self._flakeway.offer(Direction.B_TO_A, packet, self.now_us)

    def _next_us(self) -> int:
        moments = (self._flakeway.deadline, self.endpoint.deadline_us(), self.reference.deadline)
        return min(NEVER_US if moment is None else moment for moment in moments)

    def run(self, start: Start) -> str:
        """Until both ends have closed. Answers why it stopped before, "" when it did not."""
        self._from_endpoint(self.endpoint.start(start, 0))
        self._from_reference()
        steps = 0
        while not (self.endpoint.status().closed and self.reference.status.closed):
            moment_us = max(self.now_us, self._next_us())
            if moment_us > LIMIT_US:
                return f"the connection is not closed after {LIMIT_US // 1_000_000} s"
            if self.packets > LIMIT_PACKETS:
                return f"more than {LIMIT_PACKETS} packets"
            steps = steps + 1 if moment_us == self.now_us else 0
            if steps > STUCK_STEPS:
                return "it never stops at one moment"
            self.now_us = moment_us
            self._step()
        return ""

    def _step(self) -> None:
        for released in self._flakeway.release(self.now_us):
            if released.direction is Direction.A_TO_B:
                self.reference.packet(self._here, released.packet, self.now_us)
                self._from_reference()
            else:
                self.seen.append((self.now_us, released.packet, False))
                self._from_endpoint(self.endpoint.packet(self._there, released.packet, self.now_us))
        if self.endpoint.deadline_us() <= self.now_us:
            self._from_endpoint(self.endpoint.advance(self.now_us))
        deadline = self.reference.deadline
        if deadline is not None and deadline <= self.now_us:
            self.reference.advance(self.now_us)
            self._from_reference()

    def record(self, writer: PcapngWriter, interface: int) -> None:
        """As the implementation saw it."""
        counts = {True: 0, False: 0}
        for time_us, packet, sent in self.seen:
            counts[sent] += 1
            ends = (self._here, self._there) if sent else (self._there, self._here)
            way = CaptureDirection.OUTBOUND if sent else CaptureDirection.INBOUND
            octets = ipv4.wrap(packet, *ends, counts[sent])
            writer.packet(interface, time_us * 1_000, octets, direction=way)


class SteppedSweep:
    """All single faults in every transfer and role. `endpoint()` answers a living endpoint, fresh for each transfer."""

    def __init__(self, endpoint: Callable[[], SteppedEndpoint], seed: int, report: Path) -> None:
        self._endpoint = endpoint
        self._seed = seed
        self._report = report
        self._reference = IutLibrary(paths.iut_library())

    def run(
        self, transfers: Sequence[Transfer], roles: Sequence[Role], progress: Callable[[int, int], None]
    ) -> list[Result]:
        work = [(transfer, role, self._schedules(transfer, role)) for transfer in transfers for role in roles]
        total, done = sum(len(schedules) for _, _, schedules in work), 0
        results: list[Result] = []
        for transfer, role, schedules in work:
            try:
                results += self._row(transfer, role, schedules)
            except NotSupportedError as reason:
                results.append(_result(f"sweep_{transfer.name}", role, Judgement(Verdict.NA, str(reason))))
            done += len(schedules)
            progress(done, total)
        return results

    def _schedules(self, transfer: Transfer, role: Role) -> list[Schedule]:
        """The undisturbed transfer between two references shows how many packets there are to hit."""
        base = run(Bench(self._reference, self._reference), transfer, role, (), seed=self._seed)
        return [(), *faults.singles(base.packets)]

    # ---- one transfer ----

    def _ends(self, transfer: Transfer, role: Role, number: int) -> tuple[Start, IutParams]:
        here, there = addresses(number)
        common = {
            name: getattr(transfer, name)
            for name in ("buffer_size", "packet_size", "burst_size", "burst_interval_ms", "max_buffers")
        }
        start = Start(
            role=role,
            parameters=Parameters(**common, death_timer_s=DEATH_TIMER_S),
            local_address=_packed(here),
            foreign_address=_packed(there),
            local_port=_OURS,
            foreign_port=_THEIRS if role.active else 0,
            seed=self._seed,
            test_id=f"sweep_{transfer.name}[{role}]",
            data=transfer.data if role.sender else b"",
        )
        theirs = IutParams(
            **common,
            active=not role.active,
            sender=not role.sender,
            local_port=_THEIRS,
            foreign_port=_OURS,
            death_timer_s=DEATH_TIMER_S,
            seed=self._seed + 1,
            local_address=there,
            foreign_address=here,
        )
        return start, theirs

    def _one(
        self, transfer: Transfer, role: Role, number: int, schedule: Schedule, writer: PcapngWriter, interface: int
    ) -> tuple[Judgement, bool]:
        """The judgement, and whether the endpoint broke."""
        start, theirs = self._ends(transfer, role, number)
        endpoint = self._endpoint()
        flakeway = Flakeway(self._seed, LATENCY, *schedule, trace=False)
        data = b"" if role.sender else transfer.data
        with self._reference.start(theirs, data) as reference:
            pair = _Pair(endpoint, reference, flakeway, number)
            try:
                stopped = pair.run(start)
                if stopped:
                    return Judgement(Verdict.FAIL, stopped, cause=Cause.ABSENCE, expected=EXPECTED), False
                delivered = Digest.of(reference.delivered) if role.sender else endpoint.digest()
                iut = Client(endpoint.status(), endpoint.reason())
                other = Client(reference.status, reference.reason)
                verdict, seen = judge_closed(role, iut, other, delivered, transfer.data)
                return Judgement(verdict, seen, expected=EXPECTED), False
            except ImplementationError as error:
                return Judgement(
                    Verdict.FAIL, f"the implementation {error}", cause=Cause.CRASH, expected=EXPECTED
                ), True
            except HarnessError as error:
                return Judgement(Verdict.ERROR, str(error), cause=Cause.SUITE), True
            finally:
                pair.record(writer, interface)
                endpoint.close()

    # ---- one transfer and role, all schedules ----

    def _row(self, transfer: Transfer, role: Role, schedules: list[Schedule]) -> list[Result]:
        failures: dict[int, Judgement] = {}
        broken, writer = 0, PcapngWriter()
        interface = writer.interface(IMPLEMENTATION)
        ran = 0
        for number, schedule in enumerate(schedules):
            one, broke = self._one(transfer, role, number, schedule, writer, interface)
            ran, broken = number + 1, broken + broke
            if one.verdict is not Verdict.PASS:
                failures[number] = one
            if broken == BREAKS_MAX or (one.verdict is Verdict.FAIL and not schedule):
                break  # without any fault it must work, or faults show nothing
        for number, reason in self._violations(writer):
            failures.setdefault(number, Judgement(Verdict.FAIL, reason, expected=EXPECTED))
        return self._results(transfer, role, schedules, ran, failures)

    @staticmethod
    def _violations(writer: PcapngWriter) -> list[tuple[int, str]]:
        """What the dissector proves against the implementation, by schedule."""
        with tempfile.TemporaryDirectory(prefix="netblt-sweep-") as folder:
            path = Path(folder) / "merged.pcapng"
            writer.save(path)
            try:
                with Tshark() as tshark:
                    found = tshark.findings(path, violations=True)
            except JudgeError:
                return []  # the run's dissector check reports that
        numbers = {addresses(number)[0]: number for number in range(1 << 14)}
        return [
            (numbers[finding.offender_address], f"{finding.requirement} is violated (dissector)")
            for finding in found
            if finding.offender_address in numbers
        ]

    def _results(
        self,
        transfer: Transfer,
        role: Role,
        schedules: list[Schedule],
        ran: int,
        failures: dict[int, Judgement],
    ) -> list[Result]:
        judgement = Judgement()
        words = {number: "; ".join(schedules[number]) or "without any fault" for number in failures}
        for number, failure in failures.items():
            judgement.worsen(
                failure.verdict, f"{words[number]}: {failure.seen}", cause=failure.cause, expected=EXPECTED
            )
        name = f"sweep_{transfer.name}"
        left = f"; {len(schedules) - ran} were not run" if ran < len(schedules) else ""
        reason = f"{len(failures)} of {ran} schedules: {judgement.seen}{left}" if failures else ""
        counts = {"schedules": str(ran), "failed": str(len(failures))}
        rows = [
            _result(name, role, Judgement(judgement.verdict, reason, cause=judgement.cause, expected=EXPECTED), counts)
        ]
        worst = sorted(failures.items(), key=lambda item: (-item[1].verdict, item[0]))[:FAILURES_KEPT]
        for count, (number, failure) in enumerate(worst, 1):
            why = f"{words[number]}: {failure.seen}"
            row = _result(
                f"{name}: schedule {count}",
                role,
                Judgement(failure.verdict, why, cause=failure.cause, expected=EXPECTED),
            )
            capture = self._keep(transfer, role, number, schedules[number], f"{name}.{role}.{count}.pcapng")
            rows.append(dataclasses.replace(row, capture=capture))
        return rows

    def _keep(self, transfer: Transfer, role: Role, number: int, schedule: Schedule, name: str) -> str:
        """Runs it again for a capture of its own: the same bytes."""
        writer = PcapngWriter()
        self._one(transfer, role, number, schedule, writer, writer.interface(IMPLEMENTATION))
        writer.save(self._report / name.replace("sweep_", "sweep."))
        return name.replace("sweep_", "sweep.")


def picked(picks: Callable[[str], bool]) -> list[Transfer]:
    """The transfers that a selection asks for, by the name that the sweeps of the sim link have."""
    return [transfer for transfer in TRANSFERS if picks(f"sweep_{transfer.name}")]


def _result(name: str, role: Role, judgement: Judgement, observed: dict[str, str] | None = None) -> Result:
    return Result(
        name,
        list(REQUIREMENTS),
        str(role),
        judgement.verdict,
        judgement.seen,
        observed=observed or {},
        origin=Origin.SWEEP,
        cause=judgement.cause,
        expected=judgement.expected,
    )
