# SPDX-License-Identifier: GPL-2.0-or-later
"""The command doctor: one transfer in each role, with everything that there is to see of it."""
