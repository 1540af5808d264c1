# SPDX-License-Identifier: BSD-2-Clause
"""What the other tests of this folder look with sees each fault of a copy."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import trees

SEEDS = range(20)
BYTES = 300_000


def make(folder: Path, seed: int) -> tuple[Path, Path]:
    """A tree and a perfect copy of it."""
    source, copy = folder / f"from-{seed}", folder / f"to-{seed}"
    trees.make_tree(source, random.Random(seed), BYTES)
    shutil.copytree(source, copy, symlinks=True)
    return source, copy


def a_perfect_copy_has_no_difference(folder: Path) -> None:
    kinds = set()
    for seed in SEEDS:
        source, copy = make(folder, seed)
        tree = trees.snapshot(source)
        assert trees.differences(tree, trees.snapshot(copy)) == []
        kinds |= {entry.kind for entry in tree.values()}
    assert kinds == {"file", "directory", "link"}


def each_fault_of_a_copy_is_found(folder: Path) -> None:
    source, copy = make(folder, 1)
    tree = trees.snapshot(source)
    file = next(path for path in copy.rglob("*") if path.is_file() and not path.is_symlink() and path.stat().st_size)
    link = next(path for path in copy.rglob("*") if path.is_symlink())
    mode, times, target = file.stat().st_mode, file.stat().st_mtime_ns, link.readlink()

    def flip(path: Path) -> None:
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        os.utime(path, ns=(times, times))

    def other_mode() -> None:
        flip(file)
        file.chmod(mode ^ 0o020)

    def other_time() -> None:
        file.chmod(mode)
        os.utime(file, ns=(times, times + 1))

    def relink(to: Path | str) -> None:
        link.unlink()
        link.symlink_to(to)

    faults: list[tuple[str, Callable[[], object]]] = [
        ("sum is", lambda: flip(file)),
        ("mode is", other_mode),
        ("mtime_ns is", other_time),
        ("sum is", lambda: relink("elsewhere")),
        ("should not be there", lambda: (file.parent / "more").touch()),
        ("is missing", file.unlink),
    ]
    for words, fault in faults:
        fault()
        found = trees.differences(tree, trees.snapshot(copy))
        assert any(words in text for text in found), (words, found)
    assert target != link.readlink()


def appear(path: Path, content: bytes) -> None:
    """The file has its whole content from the first moment on."""
    aside = path.with_name(trees.OWN_PREFIX + "aside")
    aside.write_bytes(content)
    aside.replace(path)


def a_part_under_a_final_name_is_seen(folder: Path) -> None:
    source, copy = make(folder, 2)
    new = trees.snapshot(source)
    name = next(name for name, entry in new.items() if entry.kind == "file" and (source / name).stat().st_size > 10)
    content = (source / name).read_bytes()
    old: dict[str, trees.Entry] = {}
    with trees.Watcher(copy, old, new) as watcher:
        time.sleep(0.05)
        assert watcher.violations == []
        appear(copy / name, content[:10])
        time.sleep(0.1)
        appear(copy / name, content)
    assert watcher.violations == [f"{name!r} is neither old nor new: file of 10 bytes"], watcher.violations


def an_old_file_that_goes_before_the_new_one_comes_is_seen(folder: Path) -> None:
    source, copy = make(folder, 3)
    new = trees.snapshot(source)
    name = next(name for name, entry in new.items() if entry.kind == "file")
    with trees.Watcher(copy, {name: new[name]}, new) as watcher:
        (copy / name).unlink()
        time.sleep(0.1)
        appear(copy / name, (source / name).read_bytes())
    assert watcher.violations == [f"{name!r} had an old version and has none"], watcher.violations


def names_of_our_own_are_left_over(folder: Path) -> None:
    _, copy = make(folder, 4)
    assert trees.leftovers(copy) == []
    (copy / ".netblt-partial-0123456789abcdef").mkdir()
    assert trees.leftovers(copy) == [".netblt-partial-0123456789abcdef"]
    assert ".netblt-partial-0123456789abcdef" not in trees.snapshot(copy)


def main() -> None:
    for test in (
        a_perfect_copy_has_no_difference,
        each_fault_of_a_copy_is_found,
        a_part_under_a_final_name_is_seen,
        an_old_file_that_goes_before_the_new_one_comes_is_seen,
        names_of_our_own_are_left_over,
    ):
        with tempfile.TemporaryDirectory() as folder:
            test(Path(folder))
        print(f"ok {test.__name__}", flush=True)


main()
