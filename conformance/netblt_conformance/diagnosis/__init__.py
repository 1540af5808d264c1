# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the likely causes of the results of a run, and measures how well that works."""
