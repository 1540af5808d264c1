# SPDX-License-Identifier: BSD-2-Clause
"""Runs the long jobs one after the other and records how each went. Started by tools/nightly."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import datetime
import functools
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
BUILD, SANITIZED, VENV = ROOT / "build", ROOT / "build-asan", ROOT / ".venv" / "bin"
HOUR_S = 3600
LOG_MAX_BYTES = 1 << 20  # of each job, its end: a line for each random transfer is too much to keep
TAIL_LINES = 12  # of a failed job's log, in the text report
LOOK_S = 0.2  # between two looks whether a signal interrupted us
GRACE_S = 10  # after SIGTERM, before SIGKILL
PR_SET_CHILD_SUBREAPER = 36

Command = list[str]


@dataclass(frozen=True)
class Job:
    name: str
    about: str
    limit_s: float
    commands: Callable[[argparse.Namespace], list[Command]]  # empty: there is nothing to run here
    on_request: bool = False  # only when named or requested by an option
    keep_going: bool = False  # its commands do not build upon one another


@dataclass
class Verdict:
    name: str
    verdict: str  # passed, failed, skipped, interrupted
    seconds: float
    detail: str = ""


def seeds(given: argparse.Namespace, folder: Path, share: float = 1.0) -> list[Command]:
    """Different seeds each night; a failing one is in the log, and `random_transfers_test SEED 1` repeats it."""
    program = folder / "bin" / "random_transfers_test"
    return [[str(program), str(given.first_seed), str(max(1, int(given.seeds * share)))]]


def sanitized(_given: argparse.Namespace) -> list[Command]:
    return [
        [str(ROOT / "tools" / "build"), "--sanitize"],
        ["ctest", "--test-dir", str(SANITIZED), "--output-on-failure", "--timeout", "900", "-j2"],
    ]


def fuzz(given: argparse.Namespace) -> list[Command]:
    runner = ROOT / "reference_impl" / "fuzz" / "run"
    return [[str(runner), str(given.fuzz_seconds)]] if os.access(runner, os.X_OK) else []


def planted(given: argparse.Namespace) -> list[Command]:
    program = ROOT / "reference_impl" / "fuzz" / "planted.py"
    return [[str(VENV / "python"), str(program), "--search-seconds", str(given.fuzz_seconds)]]


def dissector(_given: argparse.Namespace) -> list[Command]:
    """Every program in dissector/nightly, each without arguments."""
    folder = ROOT / "dissector" / "nightly"
    return [[str(file)] for file in sorted(folder.glob("*")) if file.is_file() and os.access(file, os.X_OK)]


def conformance(given: argparse.Namespace) -> list[Command]:
    command = str(VENV / "netblt-conformance")
    seed = ["--seed", str(given.first_seed)]
    example = str(ROOT / "conformance" / "adapters" / "example_pipe.toml")
    more = {
        "sim": ["--link", "sim", *seed, "--sweep-random", "200"],
        "pipe": ["--adapter", example, *seed],
        "wire": ["--link", "wire", *seed],
    }
    return [
        [command, "run", "--quiet", "--report", str(given.report / f"conformance-{link}"), *options]
        for link, options in more.items()
    ]


def long_cases(given: argparse.Namespace) -> list[Command]:
    command = str(VENV / "netblt-conformance")
    example = str(ROOT / "conformance" / "adapters" / "example_pipe_c.toml")
    run = [command, "run", "--quiet", "--long", "--no-sweep", "--select", "sixteen_bits"]
    report = given.report / "long"
    return [
        [*run, "--link", "sim", "--report", str(report / "sim")],
        [*run, "--adapter", example, "--report", str(report / "pipe")],
        [*run, "--link", "wire", "--report", str(report / "wire")],
        [command, "mutants", "--long"],
        [command, "mutants", "--long", "--variants"],
    ]


def wire_repeated(_given: argparse.Namespace) -> list[Command]:
    program = [str(VENV / "python"), str(ROOT / "conformance" / "nightly" / "wire_repeated.py")]
    return [[*program, "--times", "20"], [*program, "--times", "3", "--busy", "4"]]


def broken_programs(given: argparse.Namespace) -> list[Command]:
    program = ROOT / "conformance" / "nightly" / "broken_programs.py"
    return [[str(VENV / "python"), str(program), "--report", str(given.report / "broken-programs")]]


def beside(_given: argparse.Namespace) -> list[Command]:
    """Fails when frames differ from those of the plugin, or a conforming end is reported."""
    return [[str(VENV / "python"), str(ROOT / "conformance" / "nightly" / "beside.py")]]


def paths(_given: argparse.Namespace) -> list[Command]:
    """Fails when a row misses its goal."""
    program = str(BUILD / "bin" / "netblt-paths")
    return [[program, "--seeds", "3"], [program, "--whole", "--seeds", "3"]]


def wheel(_given: argparse.Namespace) -> list[Command]:
    return [[str(VENV / "python"), str(ROOT / "conformance" / "nightly" / "wheel.py")]]


def skeletons(_given: argparse.Namespace) -> list[Command]:
    """Fails when a skeleton whose compiler is installed does not compile, or does more or less than it states."""
    return [[str(VENV / "python"), str(ROOT / "conformance" / "nightly" / "skeletons.py")]]


def ci_templates(_given: argparse.Namespace) -> list[Command]:
    """Their steps in the repository of another project; then how long the first verdict takes."""
    folder = ROOT / "conformance" / "nightly"
    tests = [str(VENV / "pytest"), "-q", "-p", "no:cacheprovider", str(folder / "ci_steps.py")]
    return [tests, [str(VENV / "python"), str(folder / "first_verdict.py")]]


def packages(given: argparse.Namespace) -> list[Command]:
    """For each release: built twice, the same bits; installed, tested and removed in a root of it. Ubuntu: where a
    mirror of it is named."""
    tools, made = ROOT / "tools", []
    ubuntu = ("noble",) if os.environ.get("NETBLT_UBUNTU_MIRROR") else ()
    for suite in ("bookworm", "trixie", *ubuntu):
        output = str(given.report / f"packages-{suite}")
        made += [
            [str(tools / "package"), "deb", "--suite", suite, "--output", output, "--twice"],
            [str(tools / "package-test"), output, suite],
        ]
    return [*made, [str(tools / "container-steps"), str(given.report / "packages-trixie")]]


def two_captures(given: argparse.Namespace) -> list[Command]:
    program = ROOT / "conformance" / "nightly" / "two_captures.py"
    return [[str(VENV / "python"), str(program), "1000", "--seed", str(given.first_seed)]]


def first_divergences(_given: argparse.Namespace) -> list[Command]:
    return [[str(VENV / "python"), str(ROOT / "conformance" / "nightly" / "first_divergences.py"), "--verbose"]]


def generated(given: argparse.Namespace) -> list[Command]:
    """An hour of generated peers against the reference and each legal variant of it, half of it with illegal moves, new
    seeds every night."""
    command = [str(VENV / "netblt-conformance"), "generate", "--seed", str(given.first_seed)]
    moves = {"generated": [], "generated-illegal": ["--illegal"]}
    return [
        [*command, *options, *what]
        for folder, options in moves.items()
        for what in (
            ["--seconds", str(HOUR_S // 2), "--output", str(given.report / folder)],
            ["--count", "500", "--variants"],
        )
    ]


def campaign(given: argparse.Namespace) -> list[Command]:
    """Fails when results differ from those of a campaign that nothing disturbed."""
    program = ROOT / "conformance" / "nightly" / "campaign.py"
    return [[str(VENV / "python"), str(program), "--seed", str(given.first_seed)]]


def bakeoff(given: argparse.Namespace) -> list[Command]:
    """The reference, both pipe examples and the ETFTP profile, over every path."""
    names = ("reference", "example_pipe", "example_pipe_c", "etftp")
    adapters = [str(ROOT / "conformance" / "adapters" / f"{name}.toml") for name in names]
    command = [str(VENV / "netblt-conformance"), "bakeoff", *adapters, "--seed", str(given.first_seed)]
    return [[*command, "--output", str(given.report / "bakeoff")]]


def variant_pairs(given: argparse.Namespace) -> list[Command]:
    """Eighteen of the single faults for each pair and transfer."""
    command = [str(VENV / "netblt-conformance"), "bakeoff", "--variants", "--faults", "18"]
    return [[*command, "--seed", str(given.first_seed), "--output", str(given.report / "variant-pairs")]]


def learned(given: argparse.Namespace) -> list[Command]:
    """The machines of the reference and of the example in C must be the stored ones, which have the same seed."""
    command = [str(VENV / "netblt-conformance"), "learn"]
    example = str(ROOT / "conformance" / "adapters" / "example_pipe_c.toml")
    again = [*command, "--strict"]
    return [
        [*again, "--output", str(given.report / "learned")],
        [*again, "--adapter", example, "--output", str(given.report / "learned-pipe")],
        [*command, "--mutants"],
        [*command, "--variants"],
    ]


def selftest(_given: argparse.Namespace) -> list[Command]:
    """Tests of the tools that take too long for tools/test, and the static analyzer of clang-tidy."""
    tests = ["-q", "-p", "no:cacheprovider", "-m", "nightly", "-n", "2"]
    tests += [str(ROOT / "conformance" / "selftest"), str(ROOT / "dissector" / "tests")]
    return [[str(VENV / "pytest"), *tests], ["env", "NETBLT_ANALYZER=1", str(ROOT / "tools" / "test"), "tidy"]]


def experiments(_given: argparse.Namespace) -> list[Command]:
    return [[str(VENV / "python"), str(ROOT / "conformance" / "nightly" / "experiments.py")]]


def bench(given: argparse.Namespace) -> list[Command]:
    return [[str(ROOT / "tools" / "bench"), "--full", "--json", str(given.report / "bench.json")]]


def legal_variants(given: argparse.Namespace) -> list[Command]:
    """Each by itself, and other groups of them every night."""
    command = [str(VENV / "netblt-conformance"), "mutants", "--variants"]
    groups = ["--together", "20", "--seed", str(given.first_seed)]
    return [[*command, "--sweep"], [*command, "--sweep", *groups], [*command, "--profile", "etftp"]]


def attack_program(name: str, *more: str) -> Command:
    """A program of reference_impl/tests/attacks against the built command."""
    folder = ROOT / "reference_impl" / "tests"
    built = [word for tool in ("netblt", "forge", "flakeway") for word in (f"--{tool}", str(BUILD / "bin" / tool))]
    path = f"PYTHONPATH={folder / 'sockets'}"
    return ["env", path, str(VENV / "python"), str(folder / "attacks" / f"{name}.py"), *built, *more]


def attacks(_given: argparse.Namespace) -> list[Command]:
    """Every kind of packet over each encapsulation, in each direction, to each end."""
    names = sorted(file.stem for file in (ROOT / "reference_impl" / "tests" / "attacks").glob("*_test.py"))
    return [attack_program(name, "--full") for name in names]


def soak(given: argparse.Namespace) -> list[Command]:
    report = str(given.report / "soak.json")
    return [
        attack_program(
            "soak", "--minutes", f"{given.soak_minutes:g}", "--seed", str(given.first_seed), "--report", report
        )
    ]


def nothing_lost(given: argparse.Namespace) -> list[Command]:
    """A thousand kills, and an outage of ten minutes."""
    folder = ROOT / "reference_impl" / "tests" / "nothing_lost"
    path = f"PYTHONPATH={folder.parent / 'sockets'}:{folder.parent / 'attacks'}"
    python = ["env", path, str(VENV / "python")]
    netblt = ["--netblt", str(BUILD / "bin" / "netblt")]
    return [
        [*python, str(folder / "kills.py"), *netblt, "--kills", str(given.kills), "--seed", str(given.first_seed)],
        [*python, str(folder / "interruptions_test.py"), *netblt, "--outage", "600"],
    ]


JOBS = [
    Job("random", "random transfers in virtual time, new seeds every night", HOUR_S, lambda g: seeds(g, BUILD)),
    Job("sanitizers", "all C tests under ASan and UBSan", HOUR_S, sanitized),
    Job("random-sanitized", "a tenth of the random transfers under ASan and UBSan", HOUR_S,
        lambda g: [sanitized(g)[0], *seeds(g, SANITIZED, 0.1)]),
    Job("fuzz", "libFuzzer on the decoder, on an endpoint and on a pair of endpoints", 4 * HOUR_S, fuzz),
    Job("planted", "wrong cores that the fuzz targets must find, by corpus or search", 8 * HOUR_S, planted),
    Job("tests", "all C tests, the slow ones too", HOUR_S,
        lambda _: [["ctest", "--test-dir", str(BUILD), "--output-on-failure", "--timeout", "1800", "-j2"]]),
    Job("selftest", "slow tests of the suite and its tools; the static analyzer of C code", HOUR_S, selftest,
        keep_going=True),
    Job("dissector", "what lies in dissector/nightly", 3 * HOUR_S, dissector, keep_going=True),
    Job("upstream", "Wireshark with the dissector built in: its checkers, its tests, patches", 3 * HOUR_S,
        lambda _: [[str(ROOT / "dissector" / "upstream" / "prepare")]]),
    Job("conformance", "every case on the links sim, pipe and wire", HOUR_S, conformance, keep_going=True),
    Job("wire-repeated", "the wire link 20 times: every verdict the same; three times more beside four busy loops",
        3 * HOUR_S, wire_repeated, keep_going=True),
    Job("two-captures", "captures of both ends of 1000 transfers, paired, beside what the flakeway did", HOUR_S,
        two_captures),
    Job("first-divergences", "where each legal variant differs from the reference first, and what explains it", HOUR_S,
        first_divergences),
    Job("wheel", "the Python wheel: two equal builds, installed and used without compiler and repository", HOUR_S,
        wheel),
    Job("skeletons", "the skeletons for the pipe whose compiler is installed: copied, built, all cases of must", HOUR_S,
        skeletons),
    Job("ci-templates", "the steps of the CI templates with the wheel, and the time to the first verdict", HOUR_S,
        ci_templates, keep_going=True),
    Job("packages", "Debian packages for each release: equal builds, tested and removed in fresh roots; the container",
        3 * HOUR_S, packages),
    Job("broken-programs", "twelve mutants as programs on the wire link: time beside the reference, first likely cause",
        2 * HOUR_S, broken_programs),
    Job("generated", "generated peers, with and without illegal moves, for an hour and against every legal variant",
        3 * HOUR_S, generated, keep_going=True),
    Job("campaign", "campaigns of which workers, the command and the scheduler are killed: the same results", HOUR_S,
        campaign),
    Job("bakeoff", "all implementations of this repository against each other, on real links over bad networks", HOUR_S,
        bakeoff),
    Job("variant-pairs", "legal variants against each other under single faults", HOUR_S, variant_pairs),
    Job("learned", "state machines of the reference, learned again, must be those that are stored; mutants must "
        "differ", 2 * HOUR_S, learned, keep_going=True),
    Job("mutants", "every wrong variant must be found", HOUR_S,
        lambda _: [[str(VENV / "netblt-conformance"), "mutants"]]),
    Job("diagnosis", "every case against every mutant: the likely causes must name what the mutant breaks", 3 * HOUR_S,
        lambda _: [[str(VENV / "netblt-conformance"), "mutants", "--diagnosis"]]),
    Job("beside", "check --explain: the frames of mutants, and no accusation of the reference or of a legal variant",
        4 * HOUR_S, beside),
    Job("paths", "bad paths in virtual time, three seeds", HOUR_S,
        paths),
    Job("experiments", "every scenario with three first seeds, and whether every fit finds what the files say",
        3 * HOUR_S, experiments),
    Job("simulator", "packets a second that the simulator carries, beside bare struct handling", HOUR_S,
        lambda _: [[str(VENV / "python"), str(ROOT / "conformance" / "bench" / "simulator.py")]]),
    Job("page", "size and first paint of the HTML report of a large run, in Chromium", HOUR_S,
        lambda _: [[str(VENV / "python"), str(ROOT / "conformance" / "bench" / "page.py")]]),
    Job("matrix", "every case against every mutant: each case must kill one or say why it cannot", 3 * HOUR_S,
        lambda g: [[str(VENV / "netblt-conformance"), "mutants", "--matrix", str(g.report / "matrix.json")]]),
    Job("long", "cases of more than a minute: the reference, a program, faults and legal choices that only they meet",
        2 * HOUR_S, long_cases, keep_going=True),
    Job("variants", "no legal variant may fail, and no group of them", 3 * HOUR_S, legal_variants, keep_going=True),
    Job("attacks", "forged packets of every kind against real processes", HOUR_S, attacks, keep_going=True),
    Job("soak", "honest transfers while all attacks run (--soak-minutes)", 3 * HOUR_S, soak),
    Job("nothing-lost", "kill -9 of both ends of transfers (--kills), with the same commands again; long outages",
        2 * HOUR_S, nothing_lost, keep_going=True),
    Job("bench", "tools/bench --full (--bench)", 12 * HOUR_S, bench, on_request=True),
]  # fmt: skip


def output_of(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    except OSError:
        return "not installed"
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0] if lines else "unknown"


@functools.cache
def versions() -> dict[str, str]:
    return {
        "tree": output_of("git", "describe", "--always", "--dirty"),
        "netblt": output_of(str(BUILD / "bin" / "netblt"), "--version"),
        "kernel": platform.release(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "cc": output_of("cc", "--version"),
        "clang": output_of("clang", "--version"),
        "cmake": output_of("cmake", "--version"),
        "tshark": output_of("tshark", "--version"),
    }


class Runner:
    """Runs commands, each as a process group of its own. Nothing that a command started outlives it, nor us."""

    def __init__(self) -> None:
        self.interrupted = False
        # Whatever loses its parent below us becomes our child, in whatever session it is.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._interrupt)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self.interrupted = True

    def command(self, command: Command, log: Path, limit_s: float) -> str:
        """ "passed", or what went wrong."""
        with log.open("ab") as out:
            out.write(f"$ {' '.join(command)}\n".encode())
            out.flush()
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    cwd=ROOT,
                )
            except OSError as problem:
                return f"cannot start {command[0]}: {problem.strerror}"
            status = self._wait(process, limit_s)
            end(process)
        if self.interrupted:
            return "interrupted"
        if status is None:
            return f"timed out after {limit_s:.0f} s"
        return "passed" if status == 0 else f"exit status {status}"

    def _wait(self, process: subprocess.Popen[bytes], limit_s: float) -> int | None:
        """The exit status; None when it takes too long or we are interrupted."""
        give_up = time.monotonic() + limit_s
        while not self.interrupted and time.monotonic() < give_up:
            try:
                return process.wait(LOOK_S)
            except subprocess.TimeoutExpired:
                pass
        return None


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a command that may have ended, politely at first, and whatever it has left running."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)
    while left := descendants(os.getpid()):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if process.poll() is not None:
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
        time.sleep(0.01)


def descendants(ancestor: int) -> list[int]:
    """Every process below this one."""
    children = defaultdict(list)
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            children[int(file.read_text().rpartition(")")[2].split()[1])].append(int(file.parent.name))
    found: list[int] = []
    parents = [ancestor]
    while parents:
        parents = [child for parent in parents for child in children[parent]]
        found += parents
    return found


def shorten(log: Path) -> None:
    if log.stat().st_size > LOG_MAX_BYTES:
        with log.open("rb") as file:
            file.seek(-LOG_MAX_BYTES, os.SEEK_END)
            end = file.read()
        log.write_bytes(b"... (the beginning is not kept)\n" + end.split(b"\n", 1)[-1])


def carry_out(job: Job, given: argparse.Namespace, runner: Runner) -> Verdict:
    log = given.report / f"{job.name}.log"
    log.write_bytes(b"")
    begin = time.monotonic()
    commands = job.commands(given)
    if not commands:
        return Verdict(job.name, "skipped", 0.0, "there is nothing to run for it in this tree")
    problems: list[str] = []
    for command in commands:
        left_s = job.limit_s - (time.monotonic() - begin)
        result = runner.command(command, log, max(1.0, left_s))
        if result != "passed":
            problems.append(f"{Path(command[0]).name}: {result}")
        if result != "passed" and (runner.interrupted or not job.keep_going):
            break
    seconds = time.monotonic() - begin
    shorten(log)
    if not problems:
        return Verdict(job.name, "passed", seconds)
    verdict = "interrupted" if runner.interrupted else "failed"
    return Verdict(job.name, verdict, seconds, f"{'; '.join(problems)}; see {log}")


def record(given: argparse.Namespace, verdicts: list[Verdict], begun: datetime.datetime) -> None:
    """Written again after each job, so that a run that is cut short leaves what it knew."""
    told = {
        "begun": begun.isoformat(timespec="seconds"),
        "versions": versions(),
        "first_seed": given.first_seed,
        "seeds": given.seeds,
        "jobs": [asdict(verdict) for verdict in verdicts],
    }
    (given.report / "nightly.json").write_text(json.dumps(told, indent=1) + "\n")
    lines = [f"nightly of {told['begun']}, tree {versions()['tree']}, seeds {given.first_seed} and up"]
    for verdict in verdicts:
        lines.append(f"{verdict.verdict:<12} {verdict.name:<18} {verdict.seconds:8.1f} s  {verdict.detail}".rstrip())
        if verdict.verdict not in ("passed", "skipped"):
            log = given.report / f"{verdict.name}.log"
            tail = log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
            lines += [f"    | {line}" for line in tail]
    (given.report / "nightly.txt").write_text("\n".join(lines) + "\n")


def read_arguments(argv: list[str]) -> tuple[argparse.Namespace, list[Job]]:
    names = [job.name for job in JOBS]
    jobs = "\n".join(f"  {job.name:<18} {job.about}" for job in JOBS)
    parser = argparse.ArgumentParser(
        prog="tools/nightly",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Runs the long jobs and records how each went.",
        epilog=f"jobs:\n{jobs}\n\nExit status: 0 all passed, 1 one did not, 2 it could not run, 130 interrupted.",
    )
    today = datetime.date.today()
    parser.add_argument("job", nargs="*", help="only these; all but those on request when none is named")
    parser.add_argument("--seeds", type=int, default=200_000, metavar="N", help="random transfers (200000)")
    parser.add_argument("--first-seed", type=int, metavar="N", help="where they start (new every day)")
    parser.add_argument("--fuzz-seconds", type=int, default=600, metavar="S", help="for each fuzz target (600)")
    parser.add_argument("--soak-minutes", type=float, default=60, metavar="M", help="of the soak under attack (60)")
    parser.add_argument("--kills", type=int, default=1000, metavar="N", help="of the job nothing-lost (1000)")
    parser.add_argument("--bench", action="store_true", help="the whole benchmark too: hours")
    parser.add_argument("--report", type=Path, default=ROOT / "netblt-report" / "nightly", metavar="DIR")
    parser.add_argument("--list", action="store_true", help="print the jobs' names and stop")
    given = parser.parse_args(argv)
    unknown = [name for name in given.job if name not in names]
    if unknown:
        parser.error(f"no job is called '{unknown[0]}'; there are: {', '.join(names)}")
    if given.seeds < 1 or given.fuzz_seconds < 1 or given.kills < 1:
        parser.error("--seeds, --fuzz-seconds and --kills want 1 or more")
    if not 0 < given.soak_minutes <= 120:
        parser.error("--soak-minutes must be greater than 0 and at most 120")
    if given.first_seed is None:
        given.first_seed = today.toordinal() * 1_000_000
    given.report = given.report.resolve()
    wanted = [
        job
        for job in JOBS
        if (job.name in given.job if given.job else not job.on_request or (job.name == "bench" and given.bench))
    ]
    return given, wanted


def main(argv: list[str]) -> int:
    given, jobs = read_arguments(argv)
    if given.list:
        print("\n".join(job.name for job in JOBS))
        return 0
    given.report.mkdir(parents=True, exist_ok=True)
    runner, begun = Runner(), datetime.datetime.now(datetime.UTC)
    verdicts: list[Verdict] = []
    for number, job in enumerate(jobs, 1):
        print(f"[{number}/{len(jobs)}] {job.name}: {job.about}", flush=True)
        verdicts.append(carry_out(job, given, runner))
        record(given, verdicts, begun)
        last = verdicts[-1]
        print(f"    {last.verdict} after {last.seconds:.0f} s {last.detail}".rstrip(), flush=True)
        if runner.interrupted:
            break
    print(f"\n{(given.report / 'nightly.txt').read_text()}", end="")
    if runner.interrupted:
        return 130
    return 0 if all(verdict.verdict in ("passed", "skipped") for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
