# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps of the sources what one version of Wireshark needs: a tree holds exactly one version of the API.

Evaluates #if lines that ask NETBLT_WIRESHARK_AT_LEAST(major, minor) and nothing else, and #ifdef and #ifndef of
NETBLT_IN_TREE, which stands for what only a plugin needs or only a source tree has. All other lines stay.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

IN_TREE = "NETBLT_IN_TREE"
ASKED = re.compile(r"(!?)\s*NETBLT_WIRESHARK_AT_LEAST\((\d+),\s*(\d+)\)")
DIRECTIVE = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b(.*)$")
DEFINITION = re.compile(r"^#define NETBLT_WIRESHARK_AT_LEAST\(.*\n(?:.*\\\n)*(?:.*\n)?\n?", re.MULTILINE)


class VersionError(Exception):
    """A condition on the version is written in a way that is not understood."""


@dataclass
class Conditional:
    """An #if that is open."""

    ours: bool  # it asks for the version of Wireshark
    kept: bool  # the lines of the present branch stay
    decided: bool = False  # a branch that stays was there


def answer(word: str, condition: str, version: tuple[int, int]) -> bool | None:
    """Whether the condition holds; None when it asks for something else."""
    if word != "if" and word != "elif":
        return (word == "ifdef") if condition.split()[:1] == [IN_TREE] else None
    if "NETBLT_WIRESHARK_AT_LEAST" not in condition:
        return None
    match = ASKED.fullmatch(condition.strip())
    if match is None:
        raise VersionError(f"only [!]NETBLT_WIRESHARK_AT_LEAST(major, minor) is understood, not: {condition.strip()}")
    return (version >= (int(match[2]), int(match[3]))) != bool(match[1])


def take_branch(stack: list[Conditional], word: str, condition: str, version: tuple[int, int]) -> bool:
    """Goes over one directive; whether its line stays."""
    if word.startswith("if"):
        holds = answer(word, condition, version)
        stack.append(Conditional(holds is not None, holds is not False, bool(holds)))
        return holds is None
    if not stack:
        raise VersionError(f"#{word} without #if")
    top = stack[-1]
    if not top.ours:
        if word == "endif":
            stack.pop()
        return True
    if word == "endif":
        stack.pop()
    elif word == "else":
        top.kept = not top.decided
    else:
        holds = answer(word, condition, version)
        if holds is None:
            raise VersionError(f"#elif of another kind: {condition.strip()}")
        top.kept = holds and not top.decided
        top.decided = top.decided or holds
    return False


def resolve(text: str, version: tuple[int, int]) -> str:
    """The text as it is for this version (major, minor)."""
    if "NETBLT_WIRESHARK_AT_LEAST" not in text and IN_TREE not in text:
        return text
    kept: list[str] = []
    stack: list[Conditional] = []
    for line in DEFINITION.sub("", text).splitlines(keepends=True):
        visible = all(level.kept for level in stack)
        match = DIRECTIVE.match(line)
        if match is not None:
            stays = take_branch(stack, match[1], match[2], version)
            if not stays or not visible:
                continue
        if visible:
            kept.append(line)
    if stack:
        raise VersionError("an #if is not closed")
    return re.sub(r"\n{3,}", "\n\n", "".join(kept))
