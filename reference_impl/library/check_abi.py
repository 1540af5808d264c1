# SPDX-License-Identifier: BSD-2-Clause
"""Compares what libnetblt offers with what it should: check_abi.py LIBRARY.so LIBRARY.a ABI.txt INCLUDE_DIR.

The shared library must export exactly the names of ABI.txt, these must be exactly what the headers mark with
NETBLT_API, and the static library must define no name outside the prefixes netblt_ and nb_. Only core/base/allocator.c
may use malloc and its relatives: everything else takes its memory from the allocator of an endpoint.
"""

import re
import subprocess
import sys
from pathlib import Path

# What the sanitizers and the compiler add by themselves.
FOREIGN = re.compile(r"^(__|_init$|_fini$)")
ALLOCATING = frozenset({
    "malloc", "calloc", "realloc", "reallocarray", "free", "aligned_alloc", "posix_memalign", "memalign", "valloc",
    "strdup", "strndup", "asprintf", "vasprintf", "getline", "open_memstream", "mmap", "sbrk", "_Znwm", "alloca",
})  # fmt: skip
ALLOCATOR_MEMBER = "allocator.c.o"
API_NAME = re.compile(r"NETBLT_API\b[^;(\[]*?\b(netblt_\w+)\s*[;(\[]")


def defined_names(library: Path, *, dynamic: bool) -> set[str]:
    """Global symbols that the library defines."""
    command = ["nm", "--defined-only", "--extern-only", *(["--dynamic"] if dynamic else []), str(library)]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    names = {fields[2] for fields in map(str.split, listing.splitlines()) if len(fields) == 3}
    return {name for name in names if not FOREIGN.match(name)}


def allocating_members(library: Path) -> set[str]:
    """Members of the static library that refer to a function that allocates or frees."""
    listing = subprocess.run(["nm", "--undefined-only", "--print-file-name", str(library)], check=True,
                             capture_output=True, text=True).stdout  # fmt: skip
    fields = (line.split() for line in listing.splitlines())
    return {words[0].split(":")[1] for words in fields if words and words[-1].split("@")[0] in ALLOCATING}


def header_names(include: Path) -> set[str]:
    """Names that the public headers declare with NETBLT_API."""
    texts = (re.sub(r"^#.*$", "", header.read_text(), flags=re.MULTILINE) for header in sorted(include.glob("*.h")))
    return {name for text in texts for name in API_NAME.findall(text)}


def complain(what: str, names: set[str]) -> bool:
    for name in sorted(names):
        print(f"{what}: {name}", file=sys.stderr)
    return bool(names)


def main() -> int:
    shared, static, abi_file, include = map(Path, sys.argv[1:5])
    wanted = {line for line in abi_file.read_text().splitlines() if line and not line.startswith("#")}
    exported = defined_names(shared, dynamic=True)
    declared = header_names(include)
    stray = {name for name in defined_names(static, dynamic=False) if not name.startswith(("netblt_", "nb_"))}
    wrong = [
        complain(f"{shared.name} does not export what {abi_file.name} lists", wanted - exported),
        complain(f"{shared.name} exports what {abi_file.name} does not list", exported - wanted),
        complain(f"a header declares what {abi_file.name} does not list", declared - wanted),
        complain(f"no header declares what {abi_file.name} lists", wanted - declared),
        complain(f"{static.name} defines a name without the library's prefixes", stray),
        complain("allocates without the allocator of the endpoint", allocating_members(static) - {ALLOCATOR_MEMBER}),
        complain("does not allocate, so this check sees nothing", {ALLOCATOR_MEMBER} - allocating_members(static)),
    ]
    if not any(wrong):
        print(f"{len(wanted)} public names, as listed")
    return int(any(wrong))


sys.exit(main())
