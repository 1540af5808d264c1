# SPDX-License-Identifier: GPL-2.0-or-later
"""Learned state machines: an implementation's Mealy machine in each role, and how it differs from the reference's."""
