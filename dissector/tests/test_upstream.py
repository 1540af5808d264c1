# SPDX-License-Identifier: GPL-2.0-or-later
"""dissector/upstream: how the plugin's sources become files of Wireshark's tree. The build itself runs nightly."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import pytest

from dissector.tests.reader import ROOT
from dissector.upstream import edits, flatten, joined, series, source, versions

NAMES = {"decode/parse.h": "packet-netblt-decode-parse.h", "wireshark/compat.h": "packet-netblt-wireshark-compat.h"}


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("decode/parse.c", "packet-netblt-decode-parse.c"),
        ("packet-netblt.c", "packet-netblt.c"),
        ("decode/packet-netblt.h", "packet-netblt.h"),
    ],
)
def test_name_keeps_the_folder(path: str, name: str) -> None:
    assert flatten.flat_name(PurePosixPath(path)) == name


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, {"a/packet-netblt.c": "", "b/packet-netblt.c": ""})
    with pytest.raises(flatten.LayoutError, match=r"packet-netblt\.c"):
        flatten.read_sources(folder, ())


def test_left_out_file_is_not_read(tmp_path: Path) -> None:
    folder = written(tmp_path, {"plugin.c": "", "a/one.c": ""})
    assert [one.name for one in flatten.read_sources(folder, ("plugin.c",))] == ["packet-netblt-a-one.c"]


@pytest.mark.parametrize("wanted", ["parse.h", "decode/parse.h", "../decode/parse.h"])
def test_include_is_found_beside_and_below_src(wanted: str) -> None:
    text = f'#include "{wanted}"\n#include <epan/packet.h>\n'
    one = flatten.Source(PurePosixPath("decode/show.c"), "show.c", text)
    expected = '#include "packet-netblt-decode-parse.h"\n#include <epan/packet.h>\n'
    assert flatten.rewrite_includes(one, NAMES) == expected


def test_include_of_nothing_is_refused() -> None:
    one = flatten.Source(PurePosixPath("decode/show.c"), "show.c", '#include "missing.h"\n')
    with pytest.raises(flatten.LayoutError, match=r"decode/show\.c includes \"missing\.h\""):
        flatten.rewrite_includes(one, NAMES)


def test_heading_is_wiresharks() -> None:
    text = "/* SPDX-License-Identifier: GPL-2.0-or-later */\n/* What it is,\n * and more. */\n#include <a.h>\n"
    lines = flatten.rewrite_heading("packet-netblt-x.c", text).splitlines()
    assert lines[:3] == ["/* packet-netblt-x.c", " * What it is,", " * and more."]
    assert lines[8:] == [
        " * SPDX-License-Identifier: GPL-2.0-or-later",
        " */",
        "",
        '#include "config.h"',
        "",
        "#include <a.h>",
    ]


def test_file_without_licence_is_refused() -> None:
    with pytest.raises(flatten.LayoutError):
        flatten.rewrite_heading("x.c", "int x;\n")


CONDITIONS = """#define NETBLT_WIRESHARK_AT_LEAST(major, minor)  \\
    (MAJOR > (major) || MINOR >= (minor))
#if NETBLT_WIRESHARK_AT_LEAST(4, 4)
new
#ifdef OTHER
inner new
#endif
#else
old
#endif
#if !NETBLT_WIRESHARK_AT_LEAST(4, 2)
older
#elif NETBLT_WIRESHARK_AT_LEAST(4, 6)
newest
#endif
#if NETBLT_WIRESHARK_AT_LEAST(4, 4)
first
#elif NETBLT_WIRESHARK_AT_LEAST(4, 2)
second
#endif
#ifndef OTHER
always
#else
never
#endif
"""


@pytest.mark.parametrize(
    ("version", "kept"),
    [
        ((4, 0), "old\nolder\n"),
        ((4, 2), "old\nsecond\n"),
        ((4, 4), "new\n#ifdef OTHER\ninner new\n#endif\nfirst\n"),
        ((4, 6), "new\n#ifdef OTHER\ninner new\n#endif\nnewest\nfirst\n"),
        ((5, 0), "new\n#ifdef OTHER\ninner new\n#endif\nnewest\nfirst\n"),
    ],
)
def test_one_version_stays(version: tuple[int, int], kept: str) -> None:
    assert versions.resolve(CONDITIONS, version) == kept + "#ifndef OTHER\nalways\n#else\nnever\n#endif\n"


def test_plugins_own_lines_go_and_those_for_a_tree_stay() -> None:
    text = "#ifdef NETBLT_IN_TREE /* x */\ntree\n#else\nplugin\n#endif\n#ifndef NETBLT_IN_TREE\nplugin\n#endif\nboth\n"
    assert versions.resolve(text, (4, 0)) == "tree\nboth\n"


@pytest.mark.parametrize(
    "text",
    [
        "#if NETBLT_WIRESHARK_AT_LEAST(4, 4) && FOO\n#endif\n",
        "#if NETBLT_WIRESHARK_AT_LEAST(4, 4)\n",
        "#if NETBLT_WIRESHARK_AT_LEAST(4, 4)\n#elif FOO\n#endif\n",
        "#endif\n/* NETBLT_WIRESHARK_AT_LEAST */\n",
    ],
)
def test_condition_that_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(versions.VersionError):
        versions.resolve(text, (4, 0))


BUILD_LIST = """set(DISSECTOR_SRC
\t${CMAKE_CURRENT_SOURCE_DIR}/packet-a.c
\t${CMAKE_CURRENT_SOURCE_DIR}/packet-z.c
)

set(DISSECTOR_SUPPORT_SRC
\t${CMAKE_CURRENT_SOURCE_DIR}/errno.c
)
"""


def test_sources_go_into_their_lists() -> None:
    texts = {
        "packet-netblt.c": "void proto_register_netblt(void)\n{\n}\n",
        "packet-netblt-b.c": "",
        "packet-netblt-a.c": "",
        "packet-netblt-a.h": "",
    }
    told = re.findall(r"/(\S+)$", edits.add_sources(BUILD_LIST, texts), re.MULTILINE)
    assert told == [
        *("packet-a.c", "packet-netblt.c", "packet-z.c"),
        *("errno.c", "packet-netblt-a.c", "packet-netblt-b.c"),
    ]


def test_author_gets_one_entry_with_a_line_for_each_patch() -> None:
    authors = "First\t<a[AT]b> {\n\tIP\n}\nLast\t<c[AT]d>\n"
    once = edits.add_author(authors, "New One", "new@example.org", "decoder")
    twice = edits.add_author(once, "New One", "new@example.org", "analysis")
    entry = "New One\t<new[AT]example.org> {\n\tdecoder\n\tanalysis\n}\n"
    assert twice == f"First\t<a[AT]b> {{\n\tIP\n}}\n\n{entry}Last\t<c[AT]d>\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("There are no new protocols in this release.\n", "[commaize]\n--\nNETBLT\n--\n"),
        ("// one a line\n--\nAlpha\nZulu\n--\n", "// one a line\n--\nAlpha\nNETBLT\nZulu\n--\n"),
    ],
)
def test_release_note_names_the_protocol(before: str, after: str) -> None:
    notes = "=== New Protocol Support\n\n{}\n=== Updated Protocol Support\n"
    assert edits.add_release_note(notes.format(before), "NETBLT") == notes.format(after)


def test_tests_are_appended_without_their_own_heading() -> None:
    assert edits.add_tests("old\n", "# SPDX\n# About\n\n@x\nclass y:\n") == "old\n\n\n@x\nclass y:\n"


def test_words_are_put_in_their_places() -> None:
    assert edits.add_words("a\ne\nc\n", ["f", "b", "a", "d"]) == "a\nb\nd\ne\nc\nf\n"


def test_configured_entries_become_source_entries() -> None:
    lines = "# a deb comment\ndeb [arch=amd64] uri suite main\ndeb-src uri suite main\n"
    assert source.source_entries(lines, False) == "deb-src [arch=amd64] uri suite main\n"
    stanzas = "Types: deb\nURIs: u\n\n# no\n\nTypes: deb-src\nURIs: v\n\nTypes: deb deb-src\nURIs: w\n"
    assert source.source_entries(stanzas, True) == "Types: deb-src\nURIs: u\n\nTypes: deb-src\nURIs: w\n\n"


def test_joined_definitions_are_static_and_one_to_a_line() -> None:
    text = """#include "config.h"
#include "packet-netblt-fields.h"
int hf_a = -1, hf_b = -1,
    hf_c = -1;
static int ett_d = -1;
expert_field ei_e = EI_INIT, ei_f = EI_INIT;
static expert_field ei_rows[3];
int other = -1, another = -1;
"""
    assert joined.join([text]).splitlines() == [
        '#include "config.h"',
        *(f"static int hf_{letter} = -1;" for letter in "abc"),
        "static int ett_d = -1;",
        "static expert_field ei_e = EI_INIT;",
        "static expert_field ei_f = EI_INIT;",
        "static expert_field ei_rows[3];",
        "int other = -1, another = -1;",
    ]


def test_joined_calls_have_plain_arguments() -> None:
    text = "f(view->packet->tvb, NB_BIT, NB_OTHER);"
    assert joined.join([text], ["#define NB_BIT 0x0002 /* x */\n"]) == "f(view_packet_tvb, 0x0002, NB_OTHER);"


def test_shared_file_comes_with_the_first_patch_that_needs_it(tmp_path: Path) -> None:
    files = {
        "low/one.c": '#include "shared/a.h"\n',
        "high/two.c": '#include "shared/b.h"\n#include "shared/a.h"\n',
        "shared/a.h": "",
        "shared/b.h": "",
        "shared/b.c": '#include "shared/c.h"\n',
        "shared/c.h": "",
    }
    patches = [series.Patch(name, (name,), "", "", (), {}) for name in ("low", "high")]
    sources = flatten.read_sources(written(tmp_path, files), ())
    made = series.sort_into(series.Plan("", (), ("shared",), tuple(patches)), sources)
    assert {name: sorted(str(one.path) for one in mine) for name, mine in made.items()} == {
        "low": ["low/one.c", "shared/a.h"],
        "high": ["high/two.c", "shared/b.c", "shared/b.h", "shared/c.h"],
    }


def test_folder_of_no_patch_is_refused(tmp_path: Path) -> None:
    sources = flatten.read_sources(written(tmp_path, {"new/one.c": ""}), ())
    with pytest.raises(flatten.LayoutError, match=r"new/one\.c"):
        series.sort_into(series.Plan("", (), (), ()), sources)


def test_each_patch_needs_only_itself_and_those_before() -> None:
    """What prepare builds every night, patch after patch, as far as the includes show it."""
    plan = series.read_plan()
    sources = flatten.read_sources(ROOT / "dissector" / "src", plan.without)
    names = {str(one.path): one.name for one in sources}
    known: set[str] = set()
    for patch, mine in series.sort_into(plan, sources).items():
        assert mine, f"the patch {patch} is empty"
        known |= {one.name for one in mine}
        for one in mine:
            wanted = {match[2] for match in flatten.INCLUDE.finditer(flatten.rewrite_includes(one, names))}
            assert wanted <= known, f"{one.path} belongs to the patch {patch} and includes {sorted(wanted - known)}"
