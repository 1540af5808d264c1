# SPDX-License-Identifier: GPL-2.0-or-later
"""Two captures of one path: which packets are the same, and how the clocks differ."""
