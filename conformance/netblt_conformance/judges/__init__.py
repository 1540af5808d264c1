# SPDX-License-Identifier: GPL-2.0-or-later
"""The second judge: the Wireshark plugin over captures, by tshark."""
