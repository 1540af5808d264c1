# SPDX-License-Identifier: GPL-2.0-or-later
"""What the Wireshark plugin can find of one requirement: the table [requirement.dissector] of the catalogue.

`generate` makes the plugin's rule table and docs/dissector-rules.md from these entries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

SLUG_PATTERN = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")

# What an entry says of a breach depends on how much a capture can prove: reach -> (needed fields, optional fields).
REACHES = {
    "violation": (("breach", "proof"), ("suspected",)),
    "suspected": (("suspected",), ()),
    "observed": ((), ()),
}
_TEXT_FIELDS = ("slug", "reach", "summary", "breach", "proof", "suspected")
_LIST_FIELDS = ("same_as",)


@dataclass(frozen=True, slots=True)
class Rule:
    """What the Wireshark plugin can find of one requirement."""

    slug: str  # netblt.analysis.<slug>
    reach: str  # "violation": can be proven; "suspected": never more; "observed": only that it was kept
    summary: str  # what Wireshark shows
    breach: str = ""  # what a violation is
    proof: str = ""  # what a capture must show to prove it
    suspected: str = ""  # when a breach is suspected only
    same_as: tuple[
        str, ...
    ] = ()  # requirements that say the same: who breaks one of them is reported for that one alone

    @property
    def name(self) -> str:
        """NB_RULE_<name> in the plugin's sources."""
        return self.slug.upper()


def rule_of(entry: Mapping[str, Any], title: str) -> Rule:
    """The rule of an entry without mistakes. Without a summary of its own the requirement's title is shown."""
    return Rule(**{"summary": title, **entry, "same_as": tuple(entry.get("same_as", ()))})


def mistakes_of(entry: object, title: object) -> Iterator[str]:
    """What is wrong with an entry, whatever stands in it. `title`: the title of its requirement."""
    if not isinstance(entry, dict):
        yield "'dissector' must be a table, [requirement.dissector]"
        return
    yield from _mistakes_of_fields(entry)
    slug, reach = entry.get("slug"), entry.get("reach")
    if isinstance(slug, str) and not SLUG_PATTERN.fullmatch(slug):
        yield f"dissector: slug {slug!r} does not look like ctrl_redundancy"
    if isinstance(reach, str) and reach in REACHES:
        yield from _mistakes_of_reach(entry, reach)
    elif isinstance(reach, str):
        yield f"dissector: reach {reach!r} is none of {', '.join(REACHES)}"
    if entry.get("summary") == title:
        yield "dissector: the summary repeats the title; without a summary the title is shown"


def _mistakes_of_fields(entry: Mapping[str, Any]) -> Iterator[str]:
    for key in ("slug", "reach"):
        if key not in entry:
            yield f"dissector: missing field {key!r}"
    for key, value in entry.items():
        if key in _LIST_FIELDS:
            if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
                yield f"dissector: field {key!r} must be a non-empty list of strings"
        elif key not in _TEXT_FIELDS:
            yield f"dissector: unknown field {key!r}"
        elif not isinstance(value, str) or not value.strip():
            yield f"dissector: field {key!r} must be a non-empty string"


def _mistakes_of_reach(entry: Mapping[str, Any], reach: str) -> Iterator[str]:
    needed, optional = REACHES[reach]
    for key in needed:
        if key not in entry:
            yield f"dissector: missing field {key!r}; the reach {reach!r} needs it"
    for key in ("breach", "proof", "suspected"):
        if key in entry and key not in needed + optional:
            yield f"dissector: field {key!r} does not go with the reach {reach!r}"


def mistakes_between(rules: Mapping[str, tuple[str, Rule]]) -> list[str]:
    """What is wrong between rules. `rules`: requirement -> where it stands, rule."""
    mistakes = []
    slugs: dict[str, str] = {}
    told: dict[str, str] = {}
    for identifier, (where, rule) in rules.items():
        if rule.slug in slugs:
            mistakes.append(f"{where}: {identifier}: dissector: {slugs[rule.slug]} has the slug {rule.slug!r}, too")
        slugs.setdefault(rule.slug, identifier)
        for other in rule.same_as:
            if other == identifier or other not in rules:
                mistakes.append(f"{where}: {identifier}: dissector: same_as names {other}, which is no other rule")
            elif other in told:
                mistakes.append(f"{where}: {identifier}: dissector: {told[other]} is the same as {other}, too")
            told.setdefault(other, identifier)
    return mistakes
