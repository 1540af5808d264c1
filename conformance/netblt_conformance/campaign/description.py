# SPDX-License-Identifier: GPL-2.0-or-later
"""Campaign files (TOML): the kind of work, what is tested, parameters, seed and number of units. docs/campaigns.md."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from netblt_conformance.campaign.errors import CampaignError
from netblt_conformance.common import toml_file
from netblt_conformance.common.toml_file import Table, Text, TomlError

UNITS_MOST = 10**12
BLOCK_MOST = 10**6


class Target(Table):
    """The implementation under test; without a key it is the reference."""

    library: Text | None = None
    adapter: Text | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Target:
        if self.library is not None and self.adapter is not None:
            raise ValueError("library and adapter name two implementations: give one of them")
        return self


class Description(Table):
    """The whole file."""

    layout: Literal[1] = Field(description="the version of this format: layout = 1")
    kind: Text = Field(description="what a unit is; see netblt-conformance campaign kinds")
    title: str = ""
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1
    units: int | None = Field(default=None, ge=1, le=UNITS_MOST)
    block: int | None = Field(default=None, ge=1, le=BLOCK_MOST)
    target: Target = Target()
    parameters: dict[str, Any] = Field(default_factory=dict)

    def resolved(self, folder: Path) -> Description:
        """With paths of the target relative to the file's folder."""
        target = {key: str((folder / value).resolve()) for key, value in self.target.given().items()}
        return self.model_copy(update={"target": Target(**target)})


def read(path: Path) -> Description:
    """CampaignError names each mistake."""
    try:
        return toml_file.read(path, Description).resolved(path.parent)
    except TomlError as error:
        raise CampaignError(str(error)) from None


def from_json(document: dict[str, Any], where: str) -> Description:
    """The description that a folder of results holds."""
    try:
        return toml_file.check(document, Description, where)
    except TomlError as error:
        raise CampaignError(str(error)) from None
