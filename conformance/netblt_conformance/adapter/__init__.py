# SPDX-License-Identifier: GPL-2.0-or-later
"""Adapters: how to reach an implementation, and what it claims."""
