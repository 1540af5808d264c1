# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the cases ordinary tests under plain pytest: `pytest conformance/suite -k CTRL-04 --pdb`."""

from __future__ import annotations

import pytest
from netblt_conformance.run import plain


def pytest_addoption(parser: pytest.Parser) -> None:
    plain.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    plain.register(config)
