# SPDX-License-Identifier: GPL-2.0-or-later
"""What could excuse the suspected end, and why it does not: by what is known of the way of its packets, and by the
proof that the Wireshark plugin asks for."""

from __future__ import annotations

from netblt_conformance.catalogue import catalogue
from netblt_conformance.common.verdicts import AGAINST, Cause, Origin, Result, Verdict
from netblt_conformance.trace.model import Event, Fate, Position, Trace

_NS_PER_MS = 1e6
# The kinds of evidence of docs/dissector-rules.md: (word in the catalogue, what it excludes).
_PROOFS = (
    ("alone", "loss, reordering and packets that the capture missed, because the packet is wrong by itself"),
    (
        "against",
        "loss, reordering and packets that the capture missed, because intact packets of this end contradict "
        "each other",
    ),
    ("order", "reordering on the way, because the IP identifications of this end show which packet left first"),
    ("gapless", "a packet of the peer that the capture missed, because its IP identifications have no gap"),
    ("complete", "a RESEND that the capture missed, because every message up to the OK of the buffer was captured"),
)
_PLUGIN = (Origin.CHECK, Origin.DISSECTOR)


def excuses(result: Result, trace: Trace) -> list[str]:
    """Each states what is excluded, and why; of a suspicion what is not excluded."""
    if result.origin in _PLUGIN and result.verdict is Verdict.INCONC:
        return _open(result, trace)
    if result.verdict not in AGAINST:
        return []
    found = _by_the_packet(result, trace)
    if result.origin is Origin.CHECK:
        return found + _by_the_proof(result)
    if result.origin is Origin.DISSECTOR:
        found += _by_the_proof(result)
    return found + _by_the_way(result, trace)


def _deciding(result: Result, trace: Trace) -> Event | None:
    at = trace.index_of(result.frame)
    return trace.events[at] if at >= 0 else None


def _by_the_packet(result: Result, trace: Trace) -> list[str]:
    event = _deciding(result, trace)
    if event is None or event.source != trace.accused or result.cause is not Cause.JUDGEMENT:
        return []
    if event.packet.error is None and event.packet.checksum_good:
        return ["damage on the way, because its checksum is right"]
    return []


def _by_the_proof(result: Result) -> list[str]:
    rule = catalogue.requirements().get(result.requirement)
    proof = rule.dissector.proof if rule is not None and rule.dissector is not None else ""
    return [text for word, text in _PROOFS if word in proof]


def _by_the_way(result: Result, trace: Trace) -> list[str]:
    if trace.position is Position.BOTH:
        lost = [event for event in trace.events if event.fate in (Fate.LOST, Fate.DAMAGED)]
        if not lost:
            return [f"loss and reordering on the way, because {_travelled(trace)}"]
        if result.origin is not Origin.SWEEP:
            return [f"other loss than what the tester ignores on purpose, because {_travelled(trace)}"]
        frames = ", ".join(str(event.frame) for event in lost[:8]) + (", ..." if len(lost) > 8 else "")
        return [f"any loss but that of the schedule, because the network reports what it did (frames {frames})"]
    if result.held_up_us or result.origin not in (Origin.CASE, Origin.MONITOR):
        return []
    return ["a busy machine, because it held up neither tester nor implementation for longer than is allowed"]


def _travelled(trace: Trace) -> str:
    took = {
        event.arrived_ns - event.sent_ns
        for event in trace.events
        if event.sent_ns is not None and event.arrived_ns is not None
    }
    times = f" and takes {took.pop() / _NS_PER_MS:g} ms for each packet" if len(took) == 1 else ""
    return f"the link loses nothing{times}"


def _open(result: Result, trace: Trace) -> list[str]:
    """Of a suspicion."""
    rule = catalogue.requirements().get(result.requirement)
    if rule is None or rule.dissector is None:
        return []
    if rule.dissector.reach != "violation":
        return ["not excluded: packets that would excuse it need not pass the capture"]
    missing = [text.partition(", because")[0] for word, text in _PROOFS[2:] if word in rule.dissector.proof]
    where = "" if trace.position is not Position.UNKNOWN else "; a second capture, or --captured-at, would settle more"
    return [f"not excluded: {text}{where}" for text in missing]
