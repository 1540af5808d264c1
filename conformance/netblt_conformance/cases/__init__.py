# SPDX-License-Identifier: GPL-2.0-or-later
"""What a test case is written with, and how long it waits."""
