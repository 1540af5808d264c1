# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine-readable results: results.jsonl and junit.xml. results.jsonl holds the time of the link and no other, so
that the same seed gives the same bytes on virtual links; the times of JUnit are real ones, as its readers expect."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netblt_conformance.common import wording
from netblt_conformance.common.verdicts import Result, Verdict
from netblt_conformance.common.words import fit, fit_lines

LAYOUT_VERSION = 1
JSON_LINES = "results.jsonl"
JUNIT = "junit.xml"
VIRTUAL_LINKS = ("sim", "pipe")  # their time is the suite's


def json_lines(header: dict[str, Any], results: Sequence[Result]) -> str:
    """A first line about the run, then one line for each result."""
    rows: list[dict[str, Any]] = [{"kind": "run", "layout": LAYOUT_VERSION, **header}]
    rows += [{"kind": "result", **wording.row(result)} for result in results]
    return "".join(fit(json.dumps(row, ensure_ascii=False)) + "\n" for row in rows)


def _outcome(element: ET.Element, result: Result) -> None:
    """JUnit knows failure, error and skipped; the verdict itself is in the message and a property."""
    if result.verdict is Verdict.FAIL:
        ET.SubElement(element, "failure", message=wording.reason(result), type="FAIL")
    elif result.verdict is Verdict.ERROR:
        ET.SubElement(element, "error", message=wording.reason(result), type="ERROR")
    elif result.verdict in (Verdict.NA, Verdict.INCONC):
        ET.SubElement(element, "skipped", message=f"{result.verdict.label}: {wording.reason(result)}")


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """(name, text) of everything but lists: JUnit's properties hold no tables."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        elif not isinstance(value, list):
            yield f"{prefix}{name}", str(value)


@dataclass(frozen=True, slots=True)
class Times:
    """Real time, in seconds."""

    run_s: float = 0.0
    by_key: Mapping[str, float] = field(default_factory=dict)  # of each run of a case, by its key


def junit(header: dict[str, Any], results: Sequence[Result], times: Times = Times()) -> str:
    left_s = dict(times.by_key)  # a run with several results took its time once
    suite = ET.Element("testsuite", name="netblt-conformance", tests=str(len(results)))
    suite.set("failures", str(sum(result.verdict is Verdict.FAIL for result in results)))
    suite.set("errors", str(sum(result.verdict is Verdict.ERROR for result in results)))
    suite.set("skipped", str(sum(result.verdict in (Verdict.NA, Verdict.INCONC) for result in results)))
    suite.set("time", f"{times.run_s:.6f}")
    properties = ET.SubElement(suite, "properties")
    for key, text in flat({"layout": LAYOUT_VERSION, **header}):
        ET.SubElement(properties, "property", name=key, value=text)
    for result in results:
        arm = "" if result.arm == "stimulus" else f" ({result.arm})"
        name = f"{result.label}[{result.role}]{arm}"
        element = ET.SubElement(suite, "testcase", classname=",".join(result.requirements), name=name)
        element.set("time", f"{left_s.pop(result.key, 0.0):.6f}")
        row = ET.SubElement(element, "properties")
        ET.SubElement(row, "property", name="verdict", value=result.verdict.label)
        ET.SubElement(row, "property", name="cause", value=result.cause)
        if header.get("link") in VIRTUAL_LINKS:
            ET.SubElement(row, "property", name="virtual_seconds", value=f"{result.seconds:.6f}")
        for key, value in (("capture", result.capture), ("frame", result.frame), ("reason", wording.reason(result))):
            if value:
                ET.SubElement(row, "property", name=key, value=str(value))
        _outcome(element, result)
    ET.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + fit_lines(ET.tostring(suite, encoding="unicode")) + "\n"


def write(folder: Path, header: dict[str, Any], results: Sequence[Result], times: Times) -> None:
    (folder / JSON_LINES).write_text(json_lines(header, results), encoding="utf-8")
    (folder / JUNIT).write_text(junit(header, results, times), encoding="utf-8")
