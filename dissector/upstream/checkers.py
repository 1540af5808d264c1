# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs each checker that Wireshark's tree brings along on our files, and counts what it reports.

Which of them end with a status and which only print differs, so each has a pattern for the lines that are reports.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from dissector.upstream import joined

WORDS_PACKAGE = "pyspellchecker==0.9.1"  # what tools/check_spelling.py imports
DISSECTORS = "epan/dissectors"


@dataclass(frozen=True)
class Context:
    """Where a checker runs and on what."""

    tree: Path
    build: Path
    state: Path  # for what we make
    names: Sequence[str]  # of our files in epan/dissectors
    commits: Sequence[str]
    environment: dict[str, str]

    @property
    def whole(self) -> Path:
        """The tree that holds our sources as one file."""
        return self.state / "joined"

    @property
    def sources(self) -> list[str]:
        return [name for name in self.names if name.endswith(".c")]

    def paths(self, names: Sequence[str]) -> list[str]:
        return [f"{DISSECTORS}/{name}" for name in names]

    def each(self, names: Sequence[str]) -> list[str]:
        """As the newer checkers want them."""
        return [part for path in self.paths(names) for part in ("--file", path)]


@dataclass(frozen=True)
class Checker:
    """One checker of Wireshark's tree."""

    name: str
    about: str
    script: str  # below the tree; the checker is skipped in versions that do not have it
    commands: Callable[[Context], list[list[str]]]
    reports: str  # a line of output that matches is a report
    warns: str = r"(?!)"  # a report that matches fails nothing
    joined: Literal["no", "also", "only"] = "no"  # runs on all sources as one file: see joined.py


@dataclass
class Result:
    """What a checker said of our files."""

    name: str
    about: str
    verdict: str  # passed, failed, not run
    reports: list[str] = field(default_factory=list)
    detail: str = ""


def spelling(context: Context) -> list[list[str]]:
    """In a Python environment of its own."""
    python = context.state / "words" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(context.state / "words")], check=True)
        pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", "install", WORDS_PACKAGE]
        subprocess.run(pip, check=True)
    return [[str(python), "tools/check_spelling.py", *context.each(context.sources)]]


def scan_all(script: str, *options: str) -> Callable[[Context], list[list[str]]]:
    """One call for all sources, each after --file."""
    return lambda c: [["python3", script, *options, *c.each(c.sources)]]


def perl_all(script: str, *options: str, headers: bool = False) -> Callable[[Context], list[list[str]]]:
    return lambda c: [["perl", script, *options, *c.paths(c.names if headers else c.sources)]]


GROUPS = ("prohibited", "deprecated", "soft-deprecated", "dissectors-prohibited", "dissectors-restricted:5")
API = [part for group in GROUPS for part in ("--group", group)]
# Arrays of expert items, one for each rule, which a loop registers (tree/findings-tree.c); checkhf.pl reads no loops.
BY_RULE = r"\bei_(violation|suspected|event)$"
# The checker splits RESENDs into RESEN and Ds.
PLURALS = r" (RESEN|CONTRO|QUITAC) +->"
# Both ports of a packet are one filter, as with TCP.
PORTS = r"hf_netblt_port called consecutively"
TYPED = ("--consecutive", "--label", "--mask", "--missing-items")

CHECKERS = [
    Checker("checkAPIs.pl", "API use, registration arrays, encodings", "tools/checkAPIs.pl",
            perl_all("tools/checkAPIs.pl", *API, headers=True), r"^(Error|Warning)\b", r"Found shadow variable",
            joined="also"),
    Checker("checkhf.pl", "fields and expert items are registered and used", "tools/checkhf.pl",
            perl_all("tools/checkhf.pl"), r"^(ERROR|Unused entry)\b", BY_RULE, joined="also"),
    Checker("checkfiltername.pl", "filter names begin with the protocol's", "tools/checkfiltername.pl",
            perl_all("tools/checkfiltername.pl"), r"doesn't match|duplicate|INVALID|contains", joined="also"),
    Checker("fix-encoding-args.pl", "encoding arguments", "tools/fix-encoding-args.pl",
            perl_all("tools/fix-encoding-args.pl"), r"\S"),
    Checker("check_typed_item_calls.py", "field types fit the calls; masks, labels, neighbours, missing items",
            "tools/check_typed_item_calls.py", scan_all("tools/check_typed_item_calls.py", *TYPED),
            r"^(Error|Warning|Note)\b", PORTS, joined="also"),
    Checker("check_tfs.py", "true_false_strings that Wireshark has already", "tools/check_tfs.py",
            scan_all("tools/check_tfs.py", "--common"), r"^Error|\bcould\b", joined="also"),
    Checker("check_val_to_str.py", "fallback formats of val_to_str", "tools/check_val_to_str.py",
            scan_all("tools/check_val_to_str.py"), r"^(Error|Warning)", joined="also"),
    Checker("check_static.py", "functions that nothing else calls", "tools/check_static.py",
            lambda c: [["python3", "tools/check_static.py", "--build", str(c.build), *c.each(c.sources)]],
            r"could be static", r"\bnb_stream_count\b"),  # what only later versions call
    Checker("check_spelling.py", "words in strings", "tools/check_spelling.py", spelling, r"packet-netblt.*->", PLURALS,
            "only"),
    Checker("checklicenses.py", "the licence of every file", "tools/checklicenses.py",
            lambda _: [["python3", "tools/checklicenses.py", DISSECTORS]], r"^(ERROR|FAIL)|unexpected"),
    Checker("detect_bad_alloc_patterns.py", "sizeof that does not fit what is allocated",
            "tools/detect_bad_alloc_patterns.py",
            lambda c: [["sh", "-c", 'printf "%s\\n" "$@" | python3 tools/detect_bad_alloc_patterns.py', "sh",
                        *c.paths(c.sources)]], r"\S"),
    Checker("validate-commit.py", "author and message of each patch", "tools/validate-commit.py",
            lambda c: [["python3", "tools/validate-commit.py", commit] for commit in c.commits],
            r"^(ERROR|WARNING|Warning|Disallowed|The commit)", r"^WARNING: name"),
    Checker("git diff --check", "white space", "tools/pre-commit",
            lambda _: [["git", "diff", "--check", "baseline", "HEAD", "--", DISSECTORS, "test", "docbook"]], r"\S"),
    Checker("tshark -v", "filters of one name fit together (ENABLE_CHECKHF_CONFLICT)", "tshark.c",
            lambda c: [[str(c.build / "run" / "tshark"), "-v"]], r"netblt"),
]  # fmt: skip


def carry_out(checker: Checker, context: Context, log: Path) -> list[Result]:
    """Runs a checker on the tree, and where it reads single files, on all our sources as one."""
    if not (context.tree / checker.script).exists():
        return [Result(checker.name, checker.about, "not run", detail="this version of Wireshark does not have it")]
    results = [] if checker.joined == "only" else [run_in(context.tree, checker, context, log)]
    if checker.joined != "no":
        one = replace(context, tree=context.whole, names=[joined.NAME])
        results.append(run_in(one.tree, replace(checker, name=f"{checker.name}, joined"), one, log))
    return results


def run_in(folder: Path, checker: Checker, context: Context, log: Path) -> Result:
    """Runs a checker once; its whole output goes to the log."""
    result = Result(checker.name, checker.about, "passed")
    with log.open("a", encoding="utf-8") as out:
        out.write(f"\n=== {checker.name}\n")
        try:
            commands = checker.commands(context)
        except (OSError, subprocess.CalledProcessError) as problem:
            return replace(result, verdict="not run", detail=str(problem))
        for command in commands:
            done = subprocess.run(
                command,
                cwd=folder,
                env=context.environment,
                check=False,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            out.write(done.stdout)
            said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout).splitlines()
            result.reports += [line.strip() for line in said if re.search(checker.reports, line)]
            if done.returncode != 0:
                result.detail = f"exit status {done.returncode}"
    grave = [line for line in result.reports if not re.search(checker.warns, line)]
    # A status without a report is a crash of the checker.
    if grave or (result.detail and not result.reports):
        result.verdict = "failed"
    return result
