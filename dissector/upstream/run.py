# SPDX-License-Identifier: GPL-2.0-or-later
"""The steps of prepare, one after the other, and its report."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from dissector.upstream import build, checkers, compare, flatten, joined, series, source
from dissector.upstream.repository import BASELINE, Repository

ROOT = Path(__file__).resolve().parents[2]
HOME = "/var/tmp/netblt-upstream"
SUITES = ("suite_dissection", "suite_dissectors", "suite_dfilter", "suite_outputformats", "suite_follow")
OUR_TESTS = "case_dissect_netblt"


@dataclass
class PatchResult:
    """What became of one patch."""

    file: str
    files: int
    lines: int
    built: bool = False
    warnings: list[str] = field(default_factory=list)  # of the compiler, in our files
    tests: build.TestRun | None = None


@dataclass
class Report:
    """What the run gave; written as report.json and report.txt."""

    wireshark: str
    patches: list[PatchResult] = field(default_factory=list)
    checkers: list[checkers.Result] = field(default_factory=list)
    suites: build.TestRun | None = None
    known: list[str] = field(default_factory=list)  # tests of Wireshark that fail without the dissector, too
    compared: compare.Comparison | None = None  # with the plugin
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        patches = all(
            patch.built and not patch.warnings and patch.tests and patch.tests.passed and patch.tests.ran
            for patch in self.patches
        )
        checked = all(result.verdict != "failed" for result in self.checkers)
        same = self.compared is not None and not self.compared.differ
        return patches and checked and same and self.suites is not None and self.suites.ran > 0 and not self.broken

    @property
    def broken(self) -> list[str]:
        """Tests of Wireshark that fail with the dissector alone."""
        return [name for name in self.suites.failed if name not in self.known] if self.suites is not None else []

    def text(self) -> str:
        lines = [f"Wireshark {self.wireshark}"]
        for patch in self.patches:
            tests = f"{patch.tests.ran} tests {verdict(patch.tests.passed)}" if patch.tests else "not tested"
            built = f"builds with {len(patch.warnings)} warnings" if patch.built else "DOES NOT BUILD"
            lines.append(f"{patch.file:<64} {patch.files:3} files {patch.lines:6} lines  {built}, {tests}")
        if self.suites is not None:
            failed = f"{len(self.suites.failed)} failed, {len(self.known)} of them without the dissector, too"
            lines.append(f"{' '.join(SUITES)}: {self.suites.ran} run, {self.suites.skipped} skipped, {failed}")
            lines += [f"    {name}" for name in self.broken]
        if self.compared is not None:
            found = f"{self.compared.captures} captures, {self.compared.characters} characters"
            differ = f"{found}, {len(self.compared.differ)} captures differ"
            lines.append(f"as the plugin prints: {self.compared.not_run or differ}")
            lines += [f"    {name}" for name in self.compared.differ[:20]]
        for result in self.checkers:
            detail = f"  {result.detail}" if result.detail else ""
            lines.append(
                f"{result.verdict:<8} {result.name:<28} {len(result.reports):3} reports  {result.about}{detail}"
            )
            lines += [f"    {line}" for line in result.reports[:20]]
        lines.append(f"{verdict(self.passed)} after {self.seconds:.0f} s")
        return "\n".join(lines) + "\n"


def verdict(passed: bool) -> str:
    return "passed" if passed else "FAILED"


def get_tree(home: Path, wanted: str | None) -> str:
    """The unpacked source with its history, made when it is not there; its version."""
    noted = home / "version"
    have = noted.read_text(encoding="utf-8").strip() if noted.exists() else None
    if have is not None and wanted in (None, have):
        return have
    for old in ("tree", "history", "build", "download"):
        shutil.rmtree(home / old, ignore_errors=True)
    (home / "without.json").unlink(missing_ok=True)
    package = source.download(home / "download", home / "apt", wanted)
    source.unpack(package, home / "tree")
    version = package.stem.split("_")[1]
    Repository(home / "history", home / "tree").begin(version)
    noted.write_text(version + "\n", encoding="utf-8")
    return version


def fails_without(repository: Repository, home: Path) -> list[str]:
    """Wireshark's tests that fail on this machine without the dissector. Asked once for each source package."""
    noted = home / "without.json"
    if not noted.exists():
        build.build(home / "build", home / "build.log")
        found = build.test(repository.tree, home / "build", home / "build.log", list(SUITES))
        noted.write_text(json.dumps(found.failed) + "\n", encoding="utf-8")
    failed: list[str] = json.loads(noted.read_text(encoding="utf-8"))
    return failed


def try_patches(repository: Repository, home: Path, files: list[Path], report: Report) -> None:
    """Applies one after the other to what Debian ships; builds and tests after each."""
    log, folder = home / "build.log", home / "build"
    log.write_text("", encoding="utf-8")
    repository.reset()
    build.configure(repository.tree, folder, log)
    report.known = fails_without(repository, home)
    for file in files:
        result = PatchResult(file.name, *repository.size_of(file))
        report.patches.append(result)
        repository.apply(file)
        result.warnings = build.build(folder, log)
        result.built = True
        result.tests = build.test(repository.tree, folder, log, [OUR_TESTS])
        print(report.text().splitlines()[-2], flush=True)


def check(repository: Repository, home: Path, names: list[str]) -> list[checkers.Result]:
    """Every checker, on the tree with the whole series."""
    commits = repository.git("rev-list", "--reverse", f"{BASELINE}..HEAD").split()
    log, state = home / "checkers.log", home / "checkers"
    log.write_text("", encoding="utf-8")
    state.mkdir(exist_ok=True)
    context = checkers.Context(repository.tree, home / "build", state, names, commits, repository.environment)
    texts = {name: (repository.tree / checkers.DISSECTORS / name).read_text(encoding="utf-8") for name in names}
    headers = [text for name, text in texts.items() if name not in context.sources]
    joined.make_tree(context.whole, repository.tree, [texts[name] for name in context.sources], headers)
    return [result for checker in checkers.CHECKERS for result in checkers.carry_out(checker, context, log)]


def short_version(version: str) -> tuple[int, int]:
    """4.0.17-0+deb12u3 is 4.0."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def make_series(home: Path, wanted: str | None, report: Report) -> None:
    report.wireshark = get_tree(home, wanted)
    repository = Repository(home / "history", home / "tree")
    plan = series.read_plan()
    made = series.commit_series(repository, ROOT, short_version(report.wireshark), plan)
    files = repository.write_patches(home / "patches")
    try_patches(repository, home, files, report)
    report.checkers = check(repository, home, sorted(name for names in made.values() for name in names))
    report.compared = compare.compare(home / "build" / "run" / "tshark")
    report.suites = build.test(repository.tree, home / "build", home / "build.log", list(SUITES))


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="prepare", description=__doc__)
    parser.add_argument("--version", help="of the source package; that of the installed tshark when left out")
    given = parser.parse_args(argv)
    home = Path(os.environ.get("NETBLT_UPSTREAM", HOME)).resolve()
    if missing := source.missing_packages():
        print(f"prepare: install first: apt-get install --no-install-recommends {' '.join(missing)}", file=sys.stderr)
        return 2
    home.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("CCACHE_DIR", str(home / "ccache"))
    report = Report("not unpacked")
    begun = time.monotonic()
    try:
        make_series(home, given.version or source.installed_version(), report)
    except (source.SourceError, flatten.LayoutError, build.BuildError, RuntimeError, OSError) as problem:
        print(f"prepare: {problem}", file=sys.stderr)
    except subprocess.CalledProcessError as problem:
        print(f"prepare: {problem.cmd[0]} failed", file=sys.stderr)
    report.seconds = time.monotonic() - begun
    (home / "report.json").write_text(json.dumps(asdict(report), indent=1) + "\n", encoding="utf-8")
    (home / "report.txt").write_text(report.text(), encoding="utf-8")
    print(report.text(), end="")
    return 0 if report.passed else 1
