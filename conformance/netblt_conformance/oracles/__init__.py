# SPDX-License-Identifier: GPL-2.0-or-later
"""Invariants that hold in every exchange. They watch all packets of all cases; each names the requirement it judges."""

from netblt_conformance.oracles.monitor import Monitor

__all__ = ["Monitor"]
