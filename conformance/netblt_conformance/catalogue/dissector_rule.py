# SPDX-License-Identifier: GPL-2.0-or-later
"""What the Wireshark plugin can find of one requirement: the table [requirement.dissector] of the catalogue.

`generate` makes the plugin's rule table and docs/dissector-rules.md from these entries.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic.types import Strict

from netblt_conformance.common.toml_file import Table, Text

SLUG_PATTERN = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")

# What an entry states of a breach depends on how much a capture can prove: reach -> (needed fields, optional fields).
REACHES = {
    "violation": (("breach", "proof"), ("suspected",)),
    "suspected": (("suspected",), ()),
    "observed": ((), ()),
}


def _slug(value: str) -> str:
    if not SLUG_PATTERN.fullmatch(value):
        raise ValueError(f"slug {value!r} does not look like ctrl_redundancy")
    return value


class Rule(Table):
    """What the Wireshark plugin can find of one requirement."""

    slug: Annotated[str, AfterValidator(_slug)]  # netblt.analysis.<slug>
    # "violation": can be proven; "suspected": never more; "observed": only that it was kept
    reach: Literal["violation", "suspected", "observed"]
    summary: Text = ""  # what Wireshark shows; the requirement's title where the file has none
    breach: Text = ""  # what a violation is
    proof: Text = ""  # what a capture must show to prove it
    suspected: Text = ""  # when a breach is suspected only
    # Requirements with the same content: a breach of one of them is reported for that one alone.
    same_as: Annotated[tuple[Text, ...], Strict(False), Field(min_length=1)] = ()

    @property
    def name(self) -> str:
        """NB_RULE_<name> in the plugin's sources."""
        return self.slug.upper()

    @model_validator(mode="after")
    def _fits_its_reach(self) -> Rule:
        needed, optional = REACHES[self.reach]
        for key in ("breach", "proof", "suspected"):
            if key in needed and not getattr(self, key):
                raise ValueError(f"{key}: missing; the reach {self.reach!r} needs it")
            if key not in needed + optional and getattr(self, key):
                raise ValueError(f"{key} does not go with the reach {self.reach!r}")
        return self


def mistakes_between(rules: Mapping[str, tuple[str, Rule]]) -> list[str]:
    """What is wrong between rules. `rules`: requirement -> its place, rule."""
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
