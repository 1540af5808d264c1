# SPDX-License-Identifier: GPL-2.0-or-later
"""The dissector check: the Wireshark plugin over captures, by tshark."""
