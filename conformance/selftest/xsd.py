# SPDX-License-Identifier: GPL-2.0-or-later
"""Validates XML by a schema with libxml2, which is there wherever tshark is."""

from __future__ import annotations

import ctypes
import ctypes.util
from pathlib import Path


class LibraryMissingError(Exception):
    """libxml2 cannot be loaded."""


def is_valid(document: Path, schema: Path) -> bool:
    """Whether the document keeps to the schema; complaints go to standard error."""
    name = ctypes.util.find_library("xml2")
    if name is None:
        raise LibraryMissingError
    xml = ctypes.CDLL(name)
    for function in ("xmlSchemaNewParserCtxt", "xmlSchemaParse", "xmlSchemaNewValidCtxt", "xmlReadFile"):
        getattr(xml, function).restype = ctypes.c_void_p
    parsed = xml.xmlSchemaParse(ctypes.c_void_p(xml.xmlSchemaNewParserCtxt(bytes(schema))))
    tree = xml.xmlReadFile(bytes(document), None, 0)
    assert parsed, f"{schema} is no schema"
    assert tree, f"{document} is no XML"
    context = ctypes.c_void_p(xml.xmlSchemaNewValidCtxt(ctypes.c_void_p(parsed)))
    return int(xml.xmlSchemaValidateDoc(context, ctypes.c_void_p(tree))) == 0
