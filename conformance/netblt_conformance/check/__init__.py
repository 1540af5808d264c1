# SPDX-License-Identifier: GPL-2.0-or-later
"""netblt-conformance check: captures from anywhere, judged by the Wireshark plugin alone."""
