# SPDX-License-Identifier: GPL-2.0-or-later
"""What happened in one connection: its packets, and what became of each of them on its way."""
