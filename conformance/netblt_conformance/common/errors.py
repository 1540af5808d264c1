# SPDX-License-Identifier: GPL-2.0-or-later
"""Errors of links and of cases, and which verdict each becomes."""

from __future__ import annotations


class LinkUnavailableError(Exception):
    """This link cannot run here; the text states what to do. The run ends with exit code 2."""


class HarnessError(Exception):
    """The suite, the adapter or the machine is at fault: verdict ERROR."""


class ImplementationError(Exception):
    """The implementation crashed, hung or was reported by a sanitizer: verdict FAIL."""


class NotSupportedError(Exception):
    """The implementation or the link lacks what the case needs: verdict N/A."""


class JudgeError(Exception):
    """tshark or the plugin cannot be used, or cannot read a capture; the message states what to do."""
