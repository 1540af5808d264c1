# SPDX-License-Identifier: GPL-2.0-or-later
"""All against all: every implementation transfers data with every other one over bad networks (docs/bakeoff.md)."""
