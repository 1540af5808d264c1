# SPDX-License-Identifier: GPL-2.0-or-later
"""Groups of legal variants in one core: the same seed draws the same ones, and the edits apply one after another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from netblt_conformance.common import paths
from netblt_conformance.common.verdicts import Result, Verdict
from netblt_conformance.mutants import mutants, mutation, together
from netblt_conformance.mutants.mutants import Edit, Variant


def variant(name: str, old: str, new: str, *not_with: str) -> Variant:
    edit = (Edit(file="a.c", old=old, new=new),)
    return Variant(name=name, ambiguities=(), about=name, edit=edit, not_with=not_with)


@pytest.fixture
def core(tmp_path: Path) -> Path:
    folder = tmp_path / "core"
    folder.mkdir()
    (folder / "a.c").write_text("one two three four five", encoding="utf-8")
    return folder


def members(group: Variant) -> set[str]:
    return set(group.name.split("+"))


def test_the_same_seed_draws_the_same_groups_of_four() -> None:
    legal = mutants.load_variants(paths.variants())

    def drawn(seed: int) -> list[str]:
        return [group.name for group in together.groups(legal, paths.core(), 3, seed)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert all(name.count("+") == together.SIZE - 1 for name in drawn(1))


def test_a_group_has_the_edits_of_all_its_members_in_an_order_in_which_they_apply(tmp_path: Path, core: Path) -> None:
    numbers = ["one", "two", "three", "four"]
    [group] = together.groups([variant(name, name, name.upper()) for name in numbers], core, 1, 1)
    mutants.apply(group, core, tmp_path / "copy")
    assert members(group) == set(numbers)
    assert (tmp_path / "copy" / "a.c").read_text(encoding="utf-8") == "ONE TWO THREE FOUR five"


@pytest.mark.parametrize(
    "other",
    [
        variant("other", "one", "eins"),  # the text is no longer there
        variant("other", "five", "FIVE", "first"),
    ],
)
def test_what_does_not_go_with_a_member_is_passed_over(core: Path, other: Variant) -> None:
    first = variant("first", "one", "1")
    for seed in range(8):
        [group] = together.groups([first, other], core, 1, seed)
        assert len(members(group)) == 1


def test_a_variant_that_excludes_one_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    head = '[[variant]]\nname = "a"\nambiguities = []\nabout = "text"\nnot_with = ["b"]\n'
    (tmp_path / "a.toml").write_text(f'{head}[[variant.edit]]\nfile = "a.c"\nold = "1"\nnew = "2"\n', encoding="utf-8")
    with pytest.raises(mutants.MutantError, match="a: unknown variant 'b'"):
        mutants.load_variants(tmp_path)


@pytest.mark.parametrize(
    ("verdict", "status", "words"), [(Verdict.FAIL, 1, "wronged"), (Verdict.INCONC, 0, "accepted")]
)
def test_a_group_that_fails_a_case_is_wronged_and_one_whose_case_does_not_occur_is_not(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    verdict: Verdict,
    status: int,
    words: str,
) -> None:
    def judged(_work: Callable[..., Any], _made: object, wanted: list[Variant], _jobs: int) -> list[mutation.Outcome]:
        result = Result("case", ["CTRL-01"], "active-sender", verdict, "this", expected="that")
        return [mutation.Outcome(one.name, [result]) for one in wanted]

    monkeypatch.setattr(mutation, "in_parallel", judged)
    assert mutation.variants(mutation.Wanted([], paths.core(), verbose=False, groups=1)) == status
    assert capsys.readouterr().out.startswith(words)
