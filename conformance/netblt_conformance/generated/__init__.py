# SPDX-License-Identifier: GPL-2.0-or-later
"""Generated legal peers: scripts of moves that RFC 998 and a network permit, chosen at random, played and judged."""
