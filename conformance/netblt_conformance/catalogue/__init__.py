# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalogue of requirements: what is required, in which dialect, and what the Wireshark plugin can find."""
