# SPDX-License-Identifier: GPL-2.0-or-later
"""What kinds have in common that play transfers in chosen roles, and whose captures the Wireshark plugin may judge."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import field_validator

from netblt_conformance.campaign.kind import Kind
from netblt_conformance.common.model import ROLES_BY_NAME
from netblt_conformance.common.toml_file import Table, Texts, unknown
from netblt_conformance.judges.tshark import Tshark


class PlayedParameters(Table):
    """In which roles of the implementation, all without any, and whether the plugin judges."""

    roles: Texts = ()
    dissector: bool = True

    @field_validator("roles")
    @classmethod
    def _are_known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in ROLES_BY_NAME:
                raise ValueError(unknown(name, list(ROLES_BY_NAME)).replace("key", "role"))
        return names


class PlayedKind(Kind):
    """One tshark serves all blocks of a process."""

    def serve(self, loop: Callable[[], None]) -> None:
        if not self.parameters.dissector:
            loop()
            return
        with Tshark() as self._tshark:
            loop()
