# SPDX-License-Identifier: GPL-2.0-or-later
"""The command learn: the state machine of an implementation in each role, and how it differs from another one's."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from netblt_conformance.common.arguments import add_role_option, at_least_one, number_of_jobs, roles_of
from netblt_conformance.common.destinations import output_file, output_folder
from netblt_conformance.common.model import MICROSECONDS_PER_MS
from netblt_conformance.common.verdicts import ExitCode
from netblt_conformance.common.words import fit
from netblt_conformance.links.base import LinkFactory
from netblt_conformance.report.progress import Progress
from netblt_conformance.run import target

if TYPE_CHECKING:
    from netblt_conformance.learned.campaign import Found, Learned
    from netblt_conformance.learned.differences import Difference
    from netblt_conformance.learned.machine import Machine
    from netblt_conformance.learned.themes import Part

DEFAULT_OUTPUT = "netblt-learned"
DEFAULT_DIFFERENCES = 10
DEFAULT_PER_STATE = 4
REFERENCE, NONE = "reference", "none"


def learn_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--adapter", type=Path, metavar="FILE", help="TOML file of an implementation on the pipe link")
    parser.add_argument("--iut-library", type=Path, metavar="SO", help="another library than the reference")
    add_role_option(parser)
    parser.add_argument(
        "--theme", action="append", metavar="NAME", help="only this theme (again: one more); default: all"
    )
    parser.add_argument(
        "--output", type=output_folder("--output"), default=DEFAULT_OUTPUT, metavar="DIR",
        help="where machines, page and captures go (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--against", default=REFERENCE, metavar="LEARNED",
        help="what to compare with: a folder or file that learn wrote, reference (default), or none",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=target.DEFAULT_SEED, help="of all choices (default: %(default)s)")
    parser.add_argument(
        "--differences", type=at_least_one, default=DEFAULT_DIFFERENCES, metavar="N",
        help="report so many differences of each role at most (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--strict", action="store_true", help="a difference that is new to the catalogue fails, too")
    parser.add_argument(
        "--small",
        action="store_true",
        help="a minute's first look: learn and compare with a few inputs of the theme main only",
    )
    parser.add_argument("--no-dissector", action="store_true", help="skip the dissector check (tshark and the plugin)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--mutants", nargs="*", metavar="NAME", help="measure which mutants of the reference differ")
    what.add_argument("--variants", nargs="*", metavar="NAME", help="explain how legal variants of it differ")
    parser.add_argument(
        "--per-state", type=at_least_one, default=DEFAULT_PER_STATE, metavar="N",
        help="--mutants, --variants: so many random sequences from each state (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--save",
        type=output_file("--save"),
        metavar="FILE",
        help="--variants: write what is permitted, with what is stored",
    )
    parser.add_argument(
        "-j", "--jobs", type=at_least_one, default=0, metavar="N", help="processes (default: processors)"
    )


def _factory(options: argparse.Namespace) -> LinkFactory:
    """TargetError for the wire link: learning needs virtual time."""
    chosen = target.choose(None, options.adapter, options.iut_library)
    if chosen.link == "wire":
        raise target.TargetError("learning needs virtual time: give an adapter with [pipe], or --iut-library")
    from netblt_conformance.learned.tester import DELAY_US

    factory = chosen.factory(DELAY_US / MICROSECONDS_PER_MS)
    factory.check()
    print(fit(target.line(factory.testing())), flush=True)
    return factory


def command_learn(options: argparse.Namespace) -> int:
    """0: no difference is forbidden. 1: one is (--strict: or new), or a crash. 2: nothing could be learned."""
    from netblt_conformance.learned import learning

    learning.library()
    if options.mutants is not None or options.variants is not None:
        return _measure(options)
    return _Run(options, _factory(options)).run()


def _measure(options: argparse.Namespace) -> int:
    if options.adapter or options.iut_library or options.small or options.against != REFERENCE:
        raise target.TargetError(
            "--mutants and --variants build libraries of the reference: leave out --adapter, --iut-library, --small "
            "and --against"
        )
    from netblt_conformance.learned import measure

    plan = measure.Plan(_parts(options), options.seed, number_of_jobs(options.jobs), options.per_state)
    if options.mutants is not None:
        return measure.mutants(options.mutants, plan)
    return measure.variants(options.variants, plan, options.save)


def _parts(options: argparse.Namespace) -> tuple[Part, ...]:
    """Roles and themes. TargetError for a theme that does not exist, or none of these roles has."""
    from netblt_conformance.learned.themes import MAIN, THEMES, parts

    if options.small and options.theme:
        raise target.TargetError("--small learns a few inputs of the theme main: leave out --theme")
    wanted = [MAIN] if options.small else options.theme
    known = [theme.name for theme in THEMES]
    for name in wanted or ():
        if name not in known:
            raise target.TargetError(f"no theme is named {name!r}; there are {', '.join(dict.fromkeys(known))}")
    roles = roles_of(options.role)
    found = tuple(part for role in roles for part in parts(role) if not wanted or part.theme.name in wanted)
    if not found:
        raise target.TargetError(f"{', '.join(map(str, roles))}: no theme {', '.join(wanted)}")
    return found


class _Run:
    """Learns, compares, judges, reports."""

    def __init__(self, options: argparse.Namespace, factory: LinkFactory) -> None:
        from netblt_conformance.learned import campaign, page

        self._campaign, self._page = campaign, page
        self._options = options
        self._factory = factory
        self._jobs = number_of_jobs(options.jobs)
        self._progress = Progress(wanted=True)

    def run(self) -> int:
        options, began_s = self._options, time.monotonic()
        parts = _parts(options)
        others = self._others(parts)
        options.output.mkdir(parents=True, exist_ok=True)
        learned = self._campaign.learn_all(
            self._factory,
            parts,
            options.seed,
            self._jobs,
            small=options.small,
            on_progress=self._show,
            on_learned=self._write,
        )
        self._progress.clear()
        differences: list[Difference] = []
        for one in learned:
            if one.machine is None:
                print(fit(f"{one.part}: {one.why}"))
                continue
            self._describe(one.machine)
            if one.part in others and not one.machine.is_cut:
                differences += self._campaign.compare(one.machine, others[one.part], options.differences)
        found = self._judged(differences)
        self._page.write(options.output / "learned.html", self._factory.testing(), learned, found)
        self._tell(found, began_s)
        if not any(one.machine for one in learned):
            return ExitCode.FAILED if any(one.fault for one in learned) else ExitCode.COULD_NOT_RUN
        bad = ("forbidden", "new") if options.strict else ("forbidden",)
        broken = any(one.fault for one in learned) or any(one.explanation.kind in bad for one in found)
        return ExitCode.FAILED if broken else ExitCode.HOLDS

    def _others(self, parts: tuple[Part, ...]) -> dict[Part, Machine]:
        """What is compared with. The stored machines have more inputs than --small: the reference is learned too."""
        options = self._options
        if options.against == NONE:
            return {}
        if options.against == REFERENCE and options.small:
            reference = self._campaign.reference_factory()
            learned = self._campaign.learn_all(
                reference, parts, options.seed, self._jobs, small=True, on_progress=self._show
            )
            return {one.part: one.machine for one in learned if one.machine is not None}
        against = None if options.against == REFERENCE else Path(options.against)
        return {part: self._campaign.load_other(against, part) for part in parts}

    def _show(self, sequences: int) -> None:
        self._progress.say(f"{sequences} sequences of inputs")

    def _write(self, one: Learned) -> None:
        """What was learned is kept, even if the command is interrupted later."""
        from netblt_conformance.learned.machine import dot, save

        machine, output = one.machine, self._options.output
        if machine is not None:
            save(machine, output / f"{machine.title}.json")
            (output / f"{machine.title}.dot").write_text(dot(machine), encoding="utf-8")

    def _describe(self, machine: Machine) -> None:
        facts = machine.facts
        print(
            f"{machine.title}: {facts['states']} states, {len(machine.inputs)} inputs; {facts['sequences']} sequences "
            f"of {facts['inputs']} inputs in {facts['rounds']} rounds"
        )
        if machine.is_cut:
            print(
                f"   not complete: more than {facts['states_most']} states, so it is not compared. A reaction that is "
                "delayed makes a state of every number of inputs before it"
            )

    def _judged(self, differences: list[Difference]) -> list[Found]:
        from netblt_conformance.learned.classes import permitted_table

        if not differences:
            return []
        self._progress.say("judging differences")
        found = self._campaign.judge_all(
            self._factory,
            differences,
            self._options.output,
            self._jobs,
            permitted_table(),
            seed=self._options.seed,
            dissector=not self._options.no_dissector,
        )
        self._progress.clear()
        return found

    def _tell(self, found: list[Found], began_s: float) -> None:
        for number, one in enumerate(found, 1):
            difference, explanation = one.difference, one.explanation
            print(fit(f"{number} {explanation.kind} {' '.join(explanation.identifiers)} ({difference.title})"))
            print(fit(f"   after {', '.join(difference.word) or 'no input'}"))
            print(fit(f"   expected {difference.expected}; seen {difference.seen}"))
            print(fit(f"   {explanation.text}; {one.capture}"))
        counts = {
            kind: sum(one.explanation.kind == kind for one in found) for kind in ("permitted", "forbidden", "new")
        }
        counted = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        title = "1 difference" if len(found) == 1 else f"{len(found)} differences"
        if self._options.against == NONE:
            title, counted = "not compared", "--against none"
        print(f"{title}: {counted}; seed {self._options.seed}, {time.monotonic() - began_s:.0f} s")
        print(fit(f"page: {self._options.output / 'learned.html'}"))
