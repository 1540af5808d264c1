# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies the first version of an endpoint for the pipe link, and files for CI, to a user's folder."""
