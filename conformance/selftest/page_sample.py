# SPDX-License-Identifier: GPL-2.0-or-later
"""Detail objects and results made up for tests of the HTML page: a transfer over a bad network, a run of many rows."""

from __future__ import annotations

import random
from typing import Any

from netblt_conformance.catalogue import catalogue
from netblt_conformance.common.model import ROLES_BY_NAME
from netblt_conformance.common.verdicts import Origin, Result, Verdict
from netblt_conformance.report.page import render
from netblt_conformance.report.page.blocks import Detail
from netblt_conformance.trace.encode import FIELDS

HEADER: dict[str, Any] = {
    "suite": "netblt-conformance 0",
    "link": "sim",
    "testing": {"name": "an implementation", "link": "sim"},
    "seed": 1,
    "schedule": {"delay": "20 ms"},
    "observed": {"active-sender": {"version byte": "2", "first buffer number": "1"}},
}
DELAY_US, INTERVAL_US, BURST = 20_000, 10_000, 4
SENDER, RECEIVER = 0, 1


class _Transfer:
    """Writes down the events of a transfer; what happens to a packet is drawn by lot."""

    def __init__(self, seed: int, loss: float) -> None:
        self.random = random.Random(seed)
        self.loss = loss
        self.rows: list[dict[str, Any]] = []
        self.messages: dict[int, list[list[Any]]] = {}
        self.frame = 0

    def send(self, source: int, at_us: float, kind: str, label: str, **fields: Any) -> bool:
        """One packet; whether it arrives."""
        lot = self.random.random() if kind in ("DATA", "LDATA", "CONTROL") else 1.0
        self.frame += 1
        late = self.loss * 1.3 < lot < self.loss * 1.6
        row: dict[str, Any] = dict.fromkeys(FIELDS, 0)
        row |= {"source": source, "kind": kind, "sent_frame": self.frame, "sent_us": at_us, "label": label}
        row |= {"known": "captured", "marks": "", "high_seq": None, "bytes": 256, "remarks": [], "fate": "arrived"}
        row |= {key: value for key, value in fields.items() if key != "messages"}
        row["arrived_us"] = at_us + DELAY_US * (2.4 if late else 1)
        row["arrived_frame"] = 1000 + self.frame
        if lot < self.loss:
            row |= {"arrived_us": None, "arrived_frame": 0, "fate": "lost", "remarks": ["dropped by rule 1"]}
        elif lot < self.loss * 1.3:
            row["fate"] = "damaged"
        elif late:
            row["marks"] += "L"
        self.rows.append(row)
        if fields.get("messages"):
            self.messages[len(self.rows) - 1] = fields["messages"]
        if self.loss * 1.6 < lot < self.loss * 2 and kind == "DATA":
            copy = {**row, "marks": "C", "sent_us": None, "sent_frame": 0, "arrived_us": row["arrived_us"] + 300}
            self.rows.append(copy)
        return bool(row["fate"] == "arrived")


def transfer(seed: int = 1, buffers: int = 4, packets: int = 10, loss: float = 0.08) -> Detail:
    """A transfer of the sender, end 0, to the receiver, end 1, which is under test."""
    path = _Transfer(seed, loss)
    path.send(SENDER, 0, "OPEN", "OPEN")
    path.send(RECEIVER, DELAY_US, "RESPONSE", "RESPONSE")
    now, seq, acked = 2.0 * DELAY_US, 0, 0
    for buffer in range(1, buffers + 1):
        seq += 1
        control = [["GO", seq, buffer, []]]
        while not path.send(RECEIVER, now, "CONTROL", f"GO {buffer}#{seq}", messages=control):
            now += 4 * DELAY_US
        acked, now, missing, again = seq, now + DELAY_US, list(range(packets)), ""
        while missing:
            lost = []
            for number, packet in enumerate(missing):
                kind = "LDATA" if packet == packets - 1 else "DATA"
                at = now + (number // BURST) * INTERVAL_US + (number % BURST) * 200
                label = f"{kind} {buffer}/{packet} hs {acked}"
                place = {"buffer": buffer, "packet": packet, "high_seq": acked, "marks": again}
                if not path.send(SENDER, at, kind, label, **place):
                    lost.append(packet)
            now += (len(missing) // BURST + 1) * INTERVAL_US + DELAY_US
            seq += 1
            if lost:
                listed = [["RESEND", seq, buffer, lost]]
                path.send(
                    RECEIVER, now, "CONTROL", f"RESEND {buffer}#{seq} ({' '.join(map(str, lost))})", messages=listed
                )
            else:
                path.send(RECEIVER, now, "CONTROL", f"OK {buffer}#{seq}", messages=[["OK", seq, buffer, [4, 10, 80]]])
            acked, now, missing, again = seq, now + DELAY_US, lost, "R"
    path.send(RECEIVER, now, "DONE", "DONE")
    deciding = max(number for number, row in enumerate(path.rows) if row["kind"] == "CONTROL")
    return {
        "ends": [
            {"name": "10.0.0.1:5000", "sends_data": True, "under_test": False},
            {"name": "10.0.0.2:5001", "sends_data": False, "under_test": True},
        ],
        "position": "both ends",
        "terms": {
            "buffer_size": packets * 232,
            "packet_size": 232,
            "burst_size": BURST,
            "burst_interval_ms": 10,
            "max_buffers": 2,
            "death_timer_s": 30,
            "data_checksum": True,
        },
        "notes": ["the capture begins in the middle"],
        "fields": list(FIELDS),
        "events": [[row[name] for name in FIELDS] for row in path.rows],
        "messages": {str(number): listed for number, listed in path.messages.items()},
        "left_out": {"before": 0, "after": 12},
        "deciding": deciding,
        "deciding_frame": path.rows[deciding]["sent_frame"],
        "state": [
            {"title": "Control messages sent, not acknowledged", "rows": [["GO #4", "buffer 4, sent 3 times"]]},
            {"title": "Outstanding buffers", "rows": []},
        ],
        "expected": "CONTROL with GO #4, OK #5",
        "observed": "CONTROL with OK #5 alone",
        "excuses": ["the packet may have been lost: excluded, because both ends were captured"],
        "tree": _tree(path.random),
        "schedule": "drop nth=2 OK",
        "sentence": "The implementation under test as active-receiver violates CTRL-04, decided by frame 13.",
    }


def _tree(lots: random.Random) -> str:
    """As long as what tshark prints of a CONTROL packet."""
    fields = [f"    field {number} of the packet: {lots.randrange(1 << 32):#010x} ({number})" for number in range(45)]
    return "\n".join(["NETBLT CONTROL", *fields])


def run(rows: int, failures: int) -> tuple[list[Result], dict[int, Detail]]:
    """Results of a run and their details: as many cases as there are, each with a capture of its own."""
    known = list(catalogue.requirements())
    roles = list(ROLES_BY_NAME)
    results, details = [], {}
    for number in range(rows):
        failed = number < failures
        verdict = (Verdict.FAIL, Verdict.FAIL, Verdict.INCONC, Verdict.WARN)[number % 4] if failed else Verdict.PASS
        rule, role = known[number % len(known)], roles[number % len(roles)]
        seen = f"nothing for {number} ms, although the control timer ran out" if failed else ""
        origin = (Origin.CASE, Origin.CASE, Origin.MONITOR, Origin.DISSECTOR)[number % 4] if failed else Origin.CASE
        capture, frame = (
            f"{rule}.a_case_of_many_whose_name_is_as_long_as_names_of_cases_are.number_{number}.{role}.pcapng",
            13 if failed else None,
        )
        results.append(
            Result(
                f"a_case_of_many: number {number}",
                [rule],
                role,
                verdict,
                seen,
                capture=capture,
                frame=frame,
                origin=origin,
                expected=f"GO({number})" if failed else "",
            )
        )
        if failed:
            detail = transfer(number, 2 + number % 4, 8)
            command = f"netblt-conformance run --seed 1 --role {role} --select 'a case of many: number {number}'"
            details[number] = {**detail, "command": command, "filter": "frame.number == 13", "capture": capture}
    return results, details


def page(rows: int = 40, failures: int = 30) -> str:
    """The page of such a run."""
    results, details = run(rows, failures)
    return render.page(HEADER, results, details)
