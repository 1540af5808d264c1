# SPDX-License-Identifier: GPL-2.0-or-later
"""Which implementation a run tests, and over which link: taken from the command line, or refused. A run never tests
something else than what was named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from netblt_conformance.adapter import adapter_file
from netblt_conformance.adapter.adapter import Adapter
from netblt_conformance.common import paths
from netblt_conformance.common.errors import LinkUnavailableError
from netblt_conformance.common.model import MICROSECONDS_PER_MS, Encapsulation
from netblt_conformance.links.base import LinkFactory
from netblt_conformance.links.virtual import DEFAULT_DELAY_US
from netblt_conformance.packets.dialect import RFC998, Dialect

DEFAULT_SEED = 1
LINKS = ("sim", "pipe", "wire")
_REFERENCE_ADAPTER = "reference.toml"
_EXAMPLE_ADAPTER = "example_pipe.toml"


class TargetError(LinkUnavailableError):
    """The options name no implementation, or one that the link cannot reach. The text states what to give: exit
    code 2."""


@dataclass(frozen=True, slots=True)
class Target:
    """One implementation and the way to it."""

    link: str  # of LINKS
    adapter: Adapter | None = None  # pipe and wire
    library: Path | None = None  # sim

    def check_carrier(self, dialect: Dialect) -> None:
        """TargetError when the program does not state that it supports the dialect's carrier on a real link."""
        if self.link != "wire" or dialect.server_port is None:
            return
        carriers = self.adapter.encapsulations if self.adapter is not None else ()
        if carriers != (Encapsulation.UDP,) or self.adapter is None or self.adapter.udp_port != dialect.server_port:
            raise TargetError(
                f"--profile {dialect.name} over --link wire needs an adapter of a program that speaks it: with "
                f'encapsulation = "udp" and udp_port = {dialect.server_port}'
            )

    def factory(self, delay_ms: float | None = None, trace: Path | None = None) -> LinkFactory:
        """Makes its links. Links are imported here: each needs parts that others do not. `delay_ms`: one way, on
        virtual links; None: the default. `trace`: pipe: where the frames are written as text."""
        delay_us = DEFAULT_DELAY_US if delay_ms is None else round(delay_ms * MICROSECONDS_PER_MS)
        if self.adapter is None:
            from netblt_conformance.links.sim import SimLinkFactory

            return SimLinkFactory(self.library or paths.iut_library(), delay_us)
        if self.link == "pipe":
            from netblt_conformance.links.pipe import PipeLinkFactory
            from netblt_conformance.links.pipetrace import PipeTrace

            return PipeLinkFactory(self.adapter, delay_us, PipeTrace(trace) if trace is not None else None)
        from netblt_conformance.links.places import WireLinkFactory

        return WireLinkFactory(self.adapter)


def choose(link: str | None, file: Path | None, library: Path | None) -> Target:
    """The target that --link, --adapter and --iut-library name together. TargetError when they contradict each other or
    leave a choice open; AdapterError for a bad adapter."""
    if file is not None and library is not None:
        raise TargetError("--adapter and --iut-library name two implementations: give one of them")
    if library is not None:
        if link not in (None, "sim"):
            raise TargetError(f"--iut-library is for --link sim: leave out --link {link}, or give --adapter FILE")
        return Target("sim", library=library)
    if file is not None:
        return _with_adapter(link, file)
    if link == "pipe":
        example = shown(paths.adapters() / _EXAMPLE_ADAPTER)
        raise TargetError(f"--link pipe needs --adapter FILE, such as the example {example}")
    if link == "wire":
        return Target("wire", adapter_file.read(paths.adapters() / _REFERENCE_ADAPTER))
    return Target("sim")


def _with_adapter(link: str | None, file: Path) -> Target:
    described = adapter_file.read(file)
    links = described.links
    if not links:
        raise TargetError(f"{file}: the adapter has neither [pipe] nor [wire] nor [remote]: it describes no program")
    if link is None and len(links) > 1:
        raise TargetError(f"{file} describes {' and '.join(links)}: give --link {' or --link '.join(links)}")
    if link is not None and link not in links:
        raise TargetError(
            f"{file} describes the link {links[0]}, not {link}: give --link {links[0]}, or leave out --link"
            if len(links) == 1
            else f"{file} describes {' and '.join(links)}, not {link}: give --link {' or --link '.join(links)}"
        )
    return Target(link or links[0], described)


def shown(path: Path) -> str:
    """Relative to the working directory where that is shorter."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def command(factory: LinkFactory, seed: int, delay_ms: float | None, dialect: Dialect = RFC998) -> list[str]:
    """The command line that runs cases against what a factory makes links to."""
    words = ["netblt-conformance", "run"] + (["--profile", dialect.name] if dialect is not RFC998 else [])
    if factory.adapter is not None:
        words += ["--adapter", shown(factory.adapter.path)]
        words += ["--link", factory.name] if len(factory.adapter.links) > 1 else []
    elif factory.subject is not None and factory.subject.resolve() != paths.iut_library(dialect.name):
        words += ["--iut-library", shown(factory.subject.resolve())]
    words += ["--delay-ms", f"{delay_ms:g}"] if delay_ms is not None else []
    return words + (["--seed", str(seed)] if seed != DEFAULT_SEED else [])


def line(testing: Mapping[str, str]) -> str:
    """What is tested, in one line: the first of every run. `testing`: LinkFactory.testing()."""
    name, *others = testing.items()
    return f"testing: {name[1]}; " + "; ".join(f"{key} {value}" for key, value in others)
