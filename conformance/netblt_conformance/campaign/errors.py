# SPDX-License-Identifier: GPL-2.0-or-later
"""Errors of campaigns, and how a missing optional library is reported."""

from __future__ import annotations

import importlib
from typing import Any

from netblt_conformance.common.errors import LinkUnavailableError

EXTRA = "campaign"


class CampaignError(LinkUnavailableError):
    """The campaign cannot run or be read; the text states what to do. Exit code 2."""


class MismatchError(Exception):
    """A worker has another version of the project or of the implementation under test than the campaign."""


class NotDeliveredError(Exception):
    """A worker has not got the campaign yet."""


class RunnerError(Exception):
    """The process that runs the units of a worker ended by itself; the text states why."""


def library(name: str) -> Any:
    """An optional library of this package. CampaignError when it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise CampaignError(
            f"the Python library {name.partition('.')[0]} is not installed: install netblt-conformance[{EXTRA}]"
        ) from None
