# SPDX-License-Identifier: GPL-2.0-or-later
"""Links: ways to reach an implementation under test. A case does not know which one it runs on."""
