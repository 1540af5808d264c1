# SPDX-License-Identifier: GPL-2.0-or-later
"""A campaign before it runs: from its file to what a folder keeps and workers get; whether a folder belongs to it."""

from __future__ import annotations

from pathlib import Path

from netblt_conformance.campaign import identity, kind
from netblt_conformance.campaign.description import Description
from netblt_conformance.campaign.errors import CampaignError
from netblt_conformance.campaign.folder import Folder, State
from netblt_conformance.campaign.kind import Subject
from netblt_conformance.campaign.worker import Package
from netblt_conformance.common import paths


def prepare(description: Description, where: str) -> tuple[State, Subject]:
    """CampaignError names each mistake. `where`: the file, in messages."""
    given = description.target
    subject = Subject(
        Path(given.library) if given.library else None,
        Path(given.adapter) if given.adapter else None,
    )
    for path in (subject.library, subject.adapter):
        if path is not None and not path.is_file():
            raise CampaignError(f"{where}: target: {path}: no such file")
    made = kind.make(description, subject, where)
    units, block = kind.plan(made, description, where)
    library = "" if subject.adapter or not made.tests else (subject.library or paths.iut_library()).name
    tested = identity.of_subject(subject) if made.tests else ""
    return State(description, units, block, identity.project(), tested, library), subject


def package(state: State, subject: Subject) -> Package:
    """What every worker gets."""
    library = (subject.library or paths.iut_library()) if state.library else None
    return Package(
        state.id,
        state.description.model_dump(exclude_none=True),
        state.project,
        state.subject,
        str(subject.adapter or ""),
        state.library,
        library.read_bytes() if library else b"",
    )


def check_same(folder: Folder, state: State) -> None:
    """CampaignError when the folder holds results of another campaign, or of another version."""
    kept = folder.state()
    if kept.id == state.id:
        return
    different = identity.differences(kept.project, state.project)
    if kept.subject != state.subject:
        different.append("the implementation under test")
    if (kept.description, kept.units, kept.block) != (state.description, state.units, state.block):
        different.append("the campaign file")
    raise CampaignError(
        f"{folder.path} holds a campaign that differs: {', '.join(different)}. Give another --output, or go on with "
        f"what the folder holds: netblt-conformance campaign resume {folder.path}"
    )


def check_project(folder: Folder) -> None:
    """CampaignError when this machine has another version of the project than the one that began the campaign."""
    different = identity.differences(folder.state().project, identity.project())
    if different:
        raise CampaignError(
            f"{folder.path} was begun with another version of the project: {', '.join(different)}. Go on with that "
            "version, or begin again in another folder"
        )
