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
from netblt_conformance.common.model import Parameters, Role, Start
from netblt_conformance.common.verdicts import Cause, Judgement, Origin, Result, Verdict
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.links.sim import SimEndpoint
from netblt_conformance.links.virtual import SteppedEndpoint
from netblt_conformance.simlib import Flakeway, IutLibrary, PcapngWriter
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
    unfinished,
)
from netblt_conformance.sweep.stepped_pair import A, Limits, SteppedPair
from netblt_conformance.sweep.transfers import TRANSFERS, Transfer
from netblt_conformance.trace.build import IMPLEMENTATION

REQUIREMENTS = ["DATA-08", "RESEND-04", "CLOSE-01", "CLOSE-02"]
# Crashes and hangs after which the rest of a transfer and role is left alone: it would show nothing new.
BREAKS_MAX = 3
FAILURES_KEPT = 10
_OURS, _THEIRS = 1001, 1002  # NETBLT ports, as in the sweeps of the sim link


def _packed(address: str) -> bytes:
    return bytes(int(part) for part in address.split("."))


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

    def _starts(self, transfer: Transfer, role: Role, number: int) -> tuple[Start, Start]:
        """Of the implementation, which is on side A, and of the reference."""
        here, there = (_packed(address) for address in addresses(number))
        common = {
            name: getattr(transfer, name)
            for name in ("buffer_size", "packet_size", "burst_size", "burst_interval_ms", "max_buffers")
        }
        start = Start(
            role=role,
            parameters=Parameters(**common, death_timer_s=DEATH_TIMER_S),
            local_address=here,
            foreign_address=there,
            local_port=_OURS,
            foreign_port=_THEIRS if role.active else 0,
            seed=self._seed,
            test_id=f"sweep_{transfer.name}[{role}]",
            data=transfer.data if role.sender else b"",
        )
        theirs = dataclasses.replace(
            start,
            role=role.opposite,
            parameters=Parameters(**common, death_timer_s=DEATH_TIMER_S, data_checksum=True),
            local_address=there,
            foreign_address=here,
            local_port=_THEIRS,
            foreign_port=_OURS,
            seed=self._seed + 1,
            data=b"" if role.sender else transfer.data,
        )
        return start, theirs

    def _one(
        self, transfer: Transfer, role: Role, number: int, schedule: Schedule, writer: PcapngWriter, interface: int
    ) -> tuple[Judgement, bool]:
        """The judgement, and whether the endpoint broke."""
        endpoint, reference = self._endpoint(), SimEndpoint(self._reference)
        flakeway = Flakeway(self._seed, LATENCY, *schedule, trace=False)
        here, there = (_packed(address) for address in addresses(number))
        pair = SteppedPair((endpoint, reference), (here, there), flakeway)
        try:
            result = pair.run(self._starts(transfer, role, number), Limits(LIMIT_US, LIMIT_PACKETS))
            if why := unfinished(result.end, len(transfer.data)):
                return Judgement(Verdict.FAIL, why, cause=Cause.ABSENCE, expected=EXPECTED), False
            delivered = reference.digest() if role.sender else endpoint.digest()
            iut, other = (Client(end.status(), end.reason()) for end in (endpoint, reference))
            verdict, seen = judge_closed(role, iut, other, delivered, transfer.data)
            return Judgement(verdict, seen, expected=EXPECTED), False
        except ImplementationError as error:
            return Judgement(Verdict.FAIL, f"the implementation {error}", cause=Cause.CRASH, expected=EXPECTED), True
        except HarnessError as error:
            return Judgement(Verdict.ERROR, str(error), cause=Cause.SUITE), True
        finally:
            pair.record_at(A, writer, interface)
            endpoint.close()
            reference.close()

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
