# SPDX-License-Identifier: BSD-2-Clause
"""Compares the errors that the public headers document with those that real calls return.

Usage: check_errors.py INCLUDE_DIR ERRORS_TEST

Under the prototype of each public function is a comment `Errors: ...`. ERRORS_TEST prints a line for each error that it
has seen: the function and the name of the error, or NULL.
"""

import re
import subprocess
import sys
from pathlib import Path

FUNCTION = re.compile(
    r"^NETBLT_API (?!extern)(?P<type>[^;(]*?)\b(?P<name>netblt_\w+)\([^;]*\);\n(?P<after>[^\n]*)", re.M
)
ERRORS = re.compile(r"/\* Errors: (?P<text>.*?)\*/", re.S)
NAME = re.compile(r"\bNETBLT_ERR_[A-Z_]+\b|\bNULL\b")
NONE = "none. "


def constants(include: Path) -> set[str]:
    """The error codes of types.h."""
    return set(re.findall(r"^ +(NETBLT_ERR_[A-Z_]+) = -\d+,", (include / "types.h").read_text(), re.M))


def documented(include: Path) -> tuple[set[tuple[str, str]], list[str]]:
    """(function, error) of all headers, and what is wrong with the comments."""
    pairs: set[tuple[str, str]] = set()
    wrong = []
    for header in sorted(include.glob("*.h")):
        text = header.read_text()
        for function in FUNCTION.finditer(text):
            name = function["name"]
            comment = ERRORS.match(text, function.start("after"))
            if comment is None:
                wrong.append(f"{header.name}: {name} has no comment 'Errors:' under its prototype")
                continue
            named = {(name, error) for error in NAME.findall(comment["text"])}
            pairs |= named
            if bool(named) == (comment["text"] == NONE):
                wrong.append(f"{header.name}: {name}: either 'none.' or names are expected: {comment['text']}")
            if function["type"].strip() == "int" and not named:
                wrong.append(f"{header.name}: {name} returns int and documents no error")
    return pairs, wrong


def main() -> int:
    include, program = Path(sys.argv[1]), sys.argv[2]
    pairs, wrong = documented(include)
    output = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60).stdout
    seen = {(function, error) for function, error in map(str.split, output.splitlines())}
    known = constants(include)
    wrong += [f"{function} documents {error}, which no call has returned" for function, error in sorted(pairs - seen)]
    wrong += [f"{function} returned {error}, which it does not document" for function, error in sorted(seen - pairs)]
    wrong += [f"{error} is not an error code" for _, error in sorted(pairs) if error not in known | {"NULL"}]
    wrong += [f"no function documents {error}" for error in sorted(known - {error for _, error in pairs})]
    for line in wrong:
        print(line, file=sys.stderr)
    if not wrong:
        print(f"{len(pairs)} errors, each documented and returned by a call")
    return int(bool(wrong))


sys.exit(main())
