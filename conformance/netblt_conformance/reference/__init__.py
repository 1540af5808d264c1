# SPDX-License-Identifier: GPL-2.0-or-later
"""The reference core beside an end of a captured connection: what may it have sent?"""
