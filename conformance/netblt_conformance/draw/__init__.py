# SPDX-License-Identifier: GPL-2.0-or-later
"""Pictures of one connection as SVG, PNG or PDF: a ladder diagram, a time-sequence plot."""
