# SPDX-License-Identifier: GPL-2.0-or-later
"""Flakeway sweeps: short transfers between the implementation and the reference endpoint in virtual time, once for
every single fault, for every pair of faults, and for seeded random ones. See docs/sweeps.md."""
