# SPDX-License-Identifier: GPL-2.0-or-later
"""Campaigns: many units of work described by a file, spread over processes and machines, with results in tables."""
