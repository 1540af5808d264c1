# SPDX-License-Identifier: GPL-2.0-or-later
"""Plays one end of a NETBLT (RFC 998) connection against any implementation and judges what it does."""

__version__ = "0.1.0"
