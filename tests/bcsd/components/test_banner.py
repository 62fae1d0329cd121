"""What a file itself says of a library's version."""

import pytest

from weft.bcsd.components.banner import agrees, banners, said_of


def said(text, library, functions=()):
    content = b"\x7fELF\0\x90\x90" + text.encode() + b"\0other words\0"
    return [one.version for one in said_of(library, functions, banners(memoryview(content)))]


@pytest.mark.parametrize(
    ("text", "library", "version"),
    [
        ("libpng version 1.6.39", "libpng1.6", "1.6.39"),
        ("\n libpng version 1.6.37\n Copyright (c) 2018", "libpng1.6", "1.6.37"),
        ("OpenSSL 1.1.1k  25 Mar 2021", "openssl", "1.1.1k"),
        ("expat_2.4.1", "expat", "2.4.1"),
        ("libcurl/7.88.1", "curl", "7.88.1"),
        ("libjpeg-turbo version 2.1.5 (build 20230203)", "libjpeg-turbo", "2.1.5"),
        ("Lua 5.4.4  Copyright (C) 1994-2022 Lua.org, PUC-Rio", "lua5.4", "5.4.4"),
        ("$LuaVersion: Lua 5.4.4", "lua5.4", None),
        ("foo-v2.0.", "foo", "2.0"),
        # Versions of symbols, and strings that only mention one.
        ("ZLIB_1.2.9", "zlib", None),
        ("LIBTIFF_4.0", "libtiff", None),
        ("needs libpng 1.5.0 or later", "libpng1.6", None),
        ("/src/zlib-1.2.11/inflate.c", "zlib", None),
        ("libpng %s 1.6", "libpng1.6", None),
        ("libpng 16", "libpng1.6", None),
        ("libpng 1.6.39rc1", "libpng1.6", None),
        ("libpng 1.2.3.4.5", "libpng1.6", None),
        ("XML 1.0", "libxml2", None),
        ("mylibpng 1.6.39", "libpng1.6", None),
        ("libpng 1.6.39", "zlib", None),
    ],
)
def test_a_string_that_opens_with_name_and_number(text, library, version):
    assert said(text, library) == ([] if version is None else [version])


def test_functions_of_a_library_sign_for_it():
    text = " deflate 1.3.1 Copyright 1995-2024 Jean-loup Gailly and Mark Adler "
    assert said(text, "zlib", {"deflate"}) == ["1.3.1"]
    assert said(text, "zlib", {"inflate"}) == []
    assert said("deflate 1.3.1 failed", "zlib", {"deflate"}) == []


def test_each_number_is_told_once_with_the_string_that_says_it_first():
    content = memoryview(b"\0zlib 1.3\0zlib 1.2\0ZLIB/1.3 again\0")
    assert [one.text for one in said_of("zlib", (), banners(content))] == ["zlib 1.3", "zlib 1.2"]


@pytest.mark.parametrize(
    ("number", "held", "same"),
    [
        ("1.2.13", "1:1.2.13.dfsg-1", True),
        ("1.3.1", "1:1.2.13.dfsg-1", False),
        ("1.6", "1.6.39-2", True),
        ("1.6.3", "1.6.39-2", False),
        ("1.1.1k", "1.1.1k-1+deb11u1", True),
        ("1.1.1k", "1.1.1w-0", False),
        ("2.9.14", "2.9.14+dfsg-1.3", True),
        ("1.0", "unknown", False),
    ],
)
def test_numbers_of_a_file_and_versions_of_packages(number, held, same):
    assert agrees(number, held) == same
