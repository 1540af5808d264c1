# SPDX-License-Identifier: GPL-2.0-or-later
"""Predicts what NETBLT achieves over a described path: the command netblt-plan. docs/experiments.md.

A package beside the suite, because it judges no implementation. Of netblt_conformance it imports `common` only."""
