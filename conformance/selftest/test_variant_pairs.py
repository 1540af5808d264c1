# SPDX-License-Identifier: GPL-2.0-or-later
"""bakeoff --variants: legal variants of the reference against each other, and the pairs that cannot complete."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from netblt_conformance.bakeoff import incompatible, variants
from netblt_conformance.bakeoff.incompatible import Entry, VariantMeeting
from netblt_conformance.bakeoff.variant_pairs import Found, Member, Plan, pairs
from netblt_conformance.bakeoff.variants import Wanted
from netblt_conformance.commands import cli
from netblt_conformance.common import paths
from netblt_conformance.common.model import ACTIVE_SENDER
from netblt_conformance.common.verdicts import Cause, ExitCode, Verdict
from netblt_conformance.mutants.mutants import MutantError, Variant
from netblt_conformance.sweep.transfers import TRANSFERS
from netblt_conformance.sweep.workers import Job, Outcome, Task

SCHEMA = json.loads((paths.root() / "conformance/schemas/variant-pairs.schema.json").read_text(encoding="utf-8"))
FROM_1, ONE, OTHER = "packets-from-1", Member("one", Path("one.so")), Member("other", Path("other.so"))
SAME_COUNT = Entry(ambiguities=("AMB-10",), about="packet numbers", group=(FROM_1,))


def wanted(folder: Path, *names: str) -> Wanted:
    return Wanted(
        names, 0, seed=1, jobs=2, dissector=False, output=folder / "found", json=str(folder / "pairs.json"), quiet=True
    )


@pytest.mark.usefixtures("built_library")
def test_a_pair_that_cannot_complete_holds_only_where_its_ambiguity_is_documented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """AMB-10: the reference counts packets from 0. Each end completes with its like."""
    assert variants.command(wanted(tmp_path, "reference", FROM_1)) == ExitCode.HOLDS
    document = json.loads((tmp_path / "pairs.json").read_text(encoding="utf-8"))
    assert (document["pairs"], document["completed"], document["documented"]) == (4, 2, {"AMB-10": 2})
    assert "4 pairs: 2 completed, 2 are documented not to, 0 undecided, 0 failed" in capsys.readouterr().out

    monkeypatch.setattr(incompatible, "load", lambda _known: ())
    assert variants.command(wanted(tmp_path, "reference", FROM_1)) == ExitCode.FAILED
    document = json.loads((tmp_path / "pairs.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, SCHEMA)
    failed = document["failed"]
    assert [(one["sender"], one["receiver"]) for one in failed] == [(FROM_1, "reference"), ("reference", FROM_1)]
    assert all(Path(one["capture"]).stat().st_size > 500 for one in failed)


def found(*verdicts: Verdict, cause: Cause = Cause.JUDGEMENT, honest: bool = True) -> Found:
    """What came of one pair, a transfer without faults for each verdict."""
    task = Task(ONE.library, OTHER.library, TRANSFERS[0], ACTIVE_SENDER, ())
    job = Job(0, (task,) * len(verdicts), 1, None)
    made = Found({ONE.library: ONE.name, OTHER.library: OTHER.name}, len(verdicts))
    for index, verdict in enumerate(verdicts):
        kept = made.undecided if verdict is Verdict.INCONC else made.failures
        kept[ONE.name, OTHER.name].append(Outcome(job, index, verdict, "seen", cause, honest))
    return made


@pytest.mark.parametrize(
    ("verdicts", "documented", "status"),
    [
        ((), False, ExitCode.HOLDS),
        ((Verdict.FAIL,), False, ExitCode.FAILED),
        ((Verdict.FAIL,), True, ExitCode.HOLDS),
        ((Verdict.INCONC,), False, ExitCode.HOLDS),
        ((), True, ExitCode.FAILED),  # the entry is out of date
    ],
)
def test_the_exit_status_hides_neither_a_failure_nor_an_entry_that_is_out_of_date(
    *, verdicts: tuple[Verdict, ...], documented: bool, status: ExitCode
) -> None:
    entry = Entry(ambiguities=("AMB-10",), about="x", sender=(ONE.name,), receiver=(OTHER.name,))
    plan = Plan(ONE.library, ((ONE, OTHER),), None, 1, 1)
    report = variants._Report(found(*verdicts), plan, [entry] if documented else [], Path("x"))
    assert report.status == status


@pytest.mark.parametrize(
    ("verdict", "cause", "status"),
    [
        (Verdict.FAIL, Cause.CRASH, ExitCode.FAILED),
        (Verdict.FAIL, Cause.JUDGEMENT, ExitCode.FAILED),  # such as a success without all data
        (Verdict.ERROR, Cause.SUITE, ExitCode.COULD_NOT_RUN),
    ],
)
def test_the_list_explains_only_honest_failures(verdict: Verdict, cause: Cause, status: ExitCode) -> None:
    entry = Entry(ambiguities=("AMB-10",), about="x", sender=(ONE.name,), receiver=(OTHER.name,))
    broken = found(verdict, cause=cause, honest=False)
    assert variants._Report(broken, Plan(ONE.library, ((ONE, OTHER),), None, 1, 1), [entry], Path("x")).status == status


@pytest.mark.parametrize(
    ("faults", "faults_only", "stale"), [(None, True, 1), (0, True, 0), (None, False, 1), (0, False, 1)]
)
def test_each_documented_pair_that_completes_is_named_also_where_another_pair_of_its_entry_fails(
    *, faults: int | None, faults_only: bool, stale: int
) -> None:
    """ONE to OTHER fails and ONE to ONE completes. An entry about faults only needs every fault to be out of date."""
    entry = Entry(ambiguities=("AMB-10",), about="x", sender=(ONE.name,), faults_only=faults_only)
    plan = Plan(ONE.library, ((ONE, OTHER), (ONE, ONE)), faults, 1, 1)
    report = variants._Report(found(Verdict.FAIL), plan, [entry], Path("x"))
    assert report.document()["stale"] == [{"sender": "one", "receiver": "one", "ambiguities": ["AMB-10"]}] * stale


def test_one_member_meets_all_others_as_sender_and_as_receiver_and_itself_once() -> None:
    third = Member("third", Path("third.so"))
    met = [(a.name, b.name) for a, b in pairs((ONE, OTHER, third), one="one")]
    assert met == [("one", "one"), ("one", "other"), ("one", "third"), ("other", "one"), ("third", "one")]


@pytest.mark.parametrize(
    ("names", "met", "alone"),
    [
        ([], ["a", "b"], ""),
        (["a"], ["a", "b"], "a"),
        (["reference"], ["a", "b"], "reference"),
        (["reference", "reference"], ["a", "b"], "reference"),
        (["reference", "a"], ["a"], ""),
        (["a", "b", "a"], ["a", "b"], ""),
    ],
)
def test_one_name_means_with_all_others_and_several_mean_with_each_other(
    names: list[str], met: list[str], alone: str
) -> None:
    every = [Variant.model_construct(name=name) for name in ("a", "b")]
    some, only = variants.picked(every, names)
    assert ([one.name for one in some], only) == (met, alone)


@pytest.mark.parametrize(
    ("sender", "receiver", "covered"), [(FROM_1, "x", True), ("x", FROM_1, True), (FROM_1, FROM_1, False)]
)
def test_a_group_explains_meetings_with_those_outside_of_it(sender: str, receiver: str, *, covered: bool) -> None:
    assert SAME_COUNT.covers(VariantMeeting(sender, receiver, "sender", disturbed=False)) == covered


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('ambiguities = ["AMB-10"]\ngroup = ["nobody"]', "no variant is named 'nobody'"),
        ('ambiguities = ["AMB-98"]\ngroup = ["a"]', "unknown ambiguity 'AMB-98'"),
        ('ambiguities = ["AMB-10"]', "give either group, or sender, receiver or both"),
    ],
)
def test_mistakes_in_the_list_of_incompatible_pairs_are_named(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "incompatible.toml"
    file.write_text(f'[[incompatible]]\nabout = "why"\n{text}\n', encoding="utf-8")
    with pytest.raises(MutantError, match=words):
        incompatible.load(frozenset({"a"}), file)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bakeoff"], "name the adapter"),
        (["bakeoff", "a.toml", "--faults", "3"], "need --variants"),
        (["bakeoff", "--variants", "--faults", "-1"], "no whole number from 0"),
        (["bakeoff", "--variants", "--paths", "clean"], "--paths does not go with --variants"),
        (["bakeoff", "--variants", "--encapsulation", "udp"], "--encapsulation does not go with --variants"),
        (["bakeoff", "--variants", "--details", "all"], "--details does not go with --variants"),
    ],
)
def test_options_that_do_not_belong_together_are_named(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == ExitCode.COULD_NOT_RUN
    assert words in " ".join(capsys.readouterr().err.split())


def test_an_unknown_variant_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bakeoff", "--variants", "nobody"]) == ExitCode.COULD_NOT_RUN
    assert "'nobody'" in capsys.readouterr().err
