# SPDX-License-Identifier: GPL-2.0-or-later
"""netblt-conformance watch: the same judgement as `check`, while packets pass."""
