# SPDX-License-Identifier: GPL-2.0-or-later
"""A run: which cases, in which order and processes, against which implementation, and how it ends."""
