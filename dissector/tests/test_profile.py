# SPDX-License-Identifier: GPL-2.0-or-later
"""The profile that is shipped: every filter compiles, every field exists, and Wireshark takes the files as they are."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from dissector.tests import forge
from dissector.tests.forge import Trace
from dissector.tests.reader import ROOT, Reader

PROFILE = ROOT / "dissector" / "profile" / "NETBLT"


def lines(name: str) -> list[str]:
    text = (PROFILE / name).read_text()
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def table(name: str) -> list[list[str]]:
    """Wireshark's own kind of CSV; quotes inside are \\x22."""
    return [[cell.replace("\\x22", '"') for cell in row] for row in csv.reader(lines(name))]


def colours() -> list[tuple[str, str]]:
    found = [re.fullmatch(r"@(.+?)@(.+)@\[[\d,]+\]\[[\d,]+\]", line) for line in lines("colorfilters")]
    assert all(found)
    return [(match[1], match[2]) for match in found if match]


def graphs() -> list[tuple[str, str, str]]:
    return [(row[1], row[2], row[6]) for row in table("io_graphs")]


def columns() -> list[str]:
    text = (PROFILE / "preferences").read_text()
    return re.findall(r"%Cus:([^:\"]+):", text)


FILTERS = [
    *((f"colour {name}", condition) for name, condition in colours()),
    *((f"button {row[1]}", row[2]) for row in table("dfilter_buttons")),
    *((f"graph {name}", condition) for name, condition, _ in graphs() if condition),
    *((f"column {field}", field) for field in columns()),
    *((f"y of {name}", field) for name, _, field in graphs() if field),
]


@pytest.fixture(scope="module")
def all_kinds(reader: Reader) -> Path:
    """A packet of every kind that a colouring rule is about."""
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(forge.go(1, 0), forge.go(2, 1))
    trace.buffer(0, 2)
    trace.time_ns += forge.NS  # a data timer's patience
    trace.control(forge.resend(3, 0, [1]))
    trace.data(0, 1, 3)
    trace.null_ack(3)
    trace.data(1, 0, 3, corrupt=True)
    trace.put(b"\0\0\2", trace.sender, trace.receiver)
    trace.frames.append(trace.frames[5])
    trace.header_only(forge.KEEPALIVE, by_sender=True)
    trace.put(forge.packet(forge.DONE, b"", 1, 101), trace.receiver, trace.sender)  # this one is not finished
    trace.put(forge.packet(forge.QUIT, forge.text_field(b"enough"), 100, 1), trace.sender, trace.receiver)
    return trace.save(reader.home / "kinds.pcapng")


@pytest.fixture(scope="module")
def compiled(reader: Reader) -> dict[str, Any]:
    """What Wireshark states of each filter. One sharkd compiles all of them: a start takes longer than all filters."""
    asked = [
        {"jsonrpc": "2.0", "id": number, "method": "check", "params": {"filter": condition}}
        for number, (_, condition) in enumerate(FILTERS)
    ]
    done = reader.run("sharkd", "-", stdin="".join(json.dumps(line) + "\n" for line in asked))
    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    return {condition: answers[number] for number, (_, condition) in enumerate(FILTERS)}


@pytest.mark.parametrize(("name", "condition"), FILTERS, ids=[name for name, _ in FILTERS])
def test_a_filter_of_the_profile_compiles(compiled: dict[str, Any], name: str, condition: str) -> None:
    assert compiled[condition].get("result") == {"status": "OK"}, (name, compiled[condition])


def test_graphs_use_words_of_every_supported_version() -> None:
    """One unknown word, and Wireshark drops all graphs without a message."""
    styles = {"Line", "Impulse", "Bar", "Stacked Bar", "Dot", "Square", "Diamond", "Cross", "Circle", "Plus"}
    units = {"Packets", "Bytes", "Bits", *(f"{what}(Y Field)" for what in ("SUM", "MAX", "MIN", "AVG", "LOAD"))}
    rows = table("io_graphs")
    assert len(rows) >= 4
    for enabled, _, _, colour, style, unit, field, average, factor in rows:
        assert enabled in ("Enabled", "Disabled")
        assert re.fullmatch("#[0-9a-f]{6}", colour)
        assert style in styles
        assert unit in units
        assert bool(field) == unit.endswith("(Y Field)")
        assert (average, factor) == ("None", "1")


def test_every_field_that_the_profile_names_exists(reader: Reader) -> None:
    known = {line.split("\t")[2] for line in reader.run("tshark", "-G", "fields").stdout.splitlines() if "\t" in line}
    named = {word for _, condition in FILTERS for word in re.findall(r"netblt(?:\.[a-z_0-9]+)*", condition)}
    assert len(named) > 20
    assert named <= known | {"netblt"}


@pytest.fixture(scope="module")
def profile(reader: Reader) -> str:
    """Its name, when Wireshark finds it."""
    folder = reader.home / ".config" / "wireshark" / "profiles" / "NETBLT"
    folder.mkdir(parents=True)
    for path in PROFILE.iterdir():  # without its mode: another user reads it
        shutil.copyfile(path, folder / path.name)
    return folder.name


def rules_of(reader: Reader, profile: str, path: Path) -> dict[int, str]:
    """The rule that coloured each frame, when Wireshark itself reads the profile."""
    done = reader.run(
        *("tshark", "-C", profile, "-n", "--color", "-r", str(reader.readable(path))),
        *("-T", "fields", "-e", "frame.number", "-e", "frame.coloring_rule.name"),
    )
    assert done.returncode == 0, done.stderr
    assert "profile" not in done.stderr.lower(), done.stderr
    rows = [re.sub(r"\x1b\[[0-9;]*m", "", line).split("\t") for line in done.stdout.splitlines()]
    return {int(number): name for number, name in rows}


@pytest.fixture(scope="module")
def coloured(reader: Reader, profile: str, all_kinds: Path) -> dict[int, str]:
    violation = rules_of(reader, profile, ROOT / "pcaps/violations/ctrl04-new-messages-alone.pcapng")
    return rules_of(reader, profile, all_kinds) | {1000 + frame: name for frame, name in violation.items()}


@pytest.mark.parametrize("dialect", ["etftp", "version4"])
def test_colours_mean_the_same_in_every_dialect(reader: Reader, profile: str, dialect: str) -> None:
    folder = ROOT / "pcaps" / "dialects"
    facts = json.loads((folder / f"{dialect}-transfer.facts.json").read_text())
    found = rules_of(reader, profile, folder / f"{dialect}-transfer.pcapng")
    wanted = {
        "LDATA": "NETBLT last packet of a buffer",
        "DONE": "NETBLT opening and end",
        "OPEN": "NETBLT opening and end",
        "DATA": "NETBLT data",
    }
    again = facts["retransmitted_frames"]
    frames = [n for n, kind in enumerate(facts["types"], 1) if kind in wanted and n not in again]
    assert {facts["types"][frame - 1] for frame in frames} == set(wanted)
    for frame in frames:
        assert found[frame] == wanted[facts["types"][frame - 1]], frame


def test_each_colour_finds_its_packets(coloured: dict[int, str]) -> None:
    assert [coloured[frame] for frame in (1, 2, 15)] == ["NETBLT opening and end"] * 3
    assert coloured[3] == "NETBLT CONTROL"
    assert coloured[4] == "NETBLT data"
    assert coloured[7] == "NETBLT last packet of a buffer"
    assert coloured[8] == "NETBLT RESEND"
    assert coloured[9] == "NETBLT repeated data"
    assert coloured[10] == coloured[14] == "NETBLT NULL-ACK, KEEPALIVE"
    assert coloured[11] == "NETBLT damaged"
    assert coloured[12] == "NETBLT unreadable"
    assert coloured[13] == "NETBLT copy"
    assert coloured[16] == "NETBLT end with an error"
    assert "NETBLT violation" in coloured.values()
    assert "NETBLT suspected" in coloured.values()


def test_no_rule_is_hidden_by_the_ones_before(coloured: dict[int, str]) -> None:
    assert set(coloured.values()) == {name for name, _ in colours()}


def test_the_last_column_shows_what_was_found_and_why(reader: Reader, profile: str) -> None:
    path = ROOT / "pcaps/violations/ctrl04-new-messages-alone.pcapng"
    names = ("netblt.analysis.requirement", "netblt.analysis.verdict", "_ws.expert.message")
    done = reader.run("tshark", "-C", profile, "-n", "-r", str(reader.readable(path)), "-T", "psml")
    shown = [re.findall(r"<section>(.*?)</section>", packet)[-1] for packet in done.stdout.split("<packet>")[1:]]
    rows = reader.rows(path, *names)
    wanted = []
    for requirements, verdicts, texts in (tuple(row[name] for name in names) for row in rows):
        reasons = [text.removeprefix("Suspected: ").rsplit(" [", 1)[0] for text in texts if "CTRL-04" in text]
        found = zip(requirements, verdicts, reasons, strict=True)
        wanted.append(",".join(f"{requirement} {verdict}: {reason}" for requirement, verdict, reason in found))
    assert [one.replace("&gt;", ">") for one in shown] == wanted
    assert any(one.startswith("CTRL-04 violation: ") for one in wanted)


def test_each_column_has_a_width(profile: str) -> None:
    """In the order of the columns: a width that is missing clips its column."""
    assert profile
    formats = re.findall(r'^\t"[^"]+", "(%[^"]+)"', (PROFILE / "preferences").read_text(), re.MULTILINE)
    (widths,) = re.findall(r"^column\.width: (.+)$", (PROFILE / "recent").read_text(), re.MULTILINE)
    parts = widths.split(", ")
    # A custom column is known by its field alone here.
    assert parts[::2] == [one.removesuffix(":0:R") for one in formats]
    assert all(int(part) >= 50 for part in parts[1::2])
    assert formats[-1].startswith("%Cus:netblt.finding:"), "the last column takes the rest of the window"


def test_wireshark_shows_the_columns(reader: Reader, profile: str, all_kinds: Path) -> None:
    done = reader.run("tshark", "-C", profile, "-n", "-r", str(all_kinds), "-T", "psml")
    sections = re.findall(r"<section>(.*?)</section>", done.stdout.split("</structure>")[0])
    wanted = re.findall(r'^\t?"([^"]+)", "%', (PROFILE / "preferences").read_text(), re.MULTILINE)
    assert sections == wanted
    assert len(wanted) >= 10
