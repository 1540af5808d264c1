# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets as the suite reads, forges, rewrites and captures them."""
