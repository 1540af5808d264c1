# SPDX-License-Identifier: GPL-2.0-or-later
"""Experiments: NETBLT over described networks, in virtual time or over real packets. docs/experiments.md."""
