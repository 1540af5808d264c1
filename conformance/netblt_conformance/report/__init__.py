# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run writes: the verdict table, JSON lines, JUnit XML and one capture for each case."""
