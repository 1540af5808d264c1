# SPDX-License-Identifier: GPL-2.0-or-later
"""Wrong and legal variants of the reference core, and the runs that must distinguish them."""
