"""The table of licences says what the packages say, and names every package that trustgauge asks for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name
from supply.licences import by_words, stated_licence
from supply.locks import ROOT

from tests.supply.test_locks import CORE, EXTRAS, NPM, pins, spread

PAGE = (ROOT / "docs/licences-and-patents.md").read_text("utf-8")
ASKED = {canonicalize_name(each.name) for lines in (CORE, *EXTRAS.values()) for each in spread(lines)}
OTHERS = " and others"


def rows() -> Iterator[tuple[str, str]]:
    """Package and licence, as the tables of the page have them."""
    for part, licence in re.findall(r"^\| ([^|]+) \| ([^|]+) \|", PAGE, re.M):
        yield from ((name, licence.partition(" (")[0]) for name in re.findall(r"`([^`.]+)`", part))


TABLE = dict(rows())
FREE = "Redistribution and use in source and binary\nforms"


def identifiers(expression: str) -> set[str]:
    return set(re.split(r" (?:AND|OR) ", expression))


def test_the_table_names_every_package_that_is_asked_for_and_no_other() -> None:
    npm = json.loads((ROOT / "package.json").read_text("utf-8"))["dependencies"]
    assert {canonicalize_name(name) if name not in npm else name for name in TABLE} == ASKED | npm.keys()


@pytest.mark.parametrize("name", sorted(ASKED))
def test_the_table_says_what_the_package_says(name: str) -> None:
    result = next(licence for each, licence in TABLE.items() if canonicalize_name(each) == name)
    try:
        stated = identifiers(stated_licence(distribution(name)))
    except PackageNotFoundError:
        pytest.skip(f"{name} is not installed here")
    if result.endswith(OTHERS):
        assert result.removesuffix(OTHERS) in stated
        assert len(stated) > 1
    else:
        assert identifiers(result) == stated


def test_the_table_says_what_the_npm_packages_say() -> None:
    for name in json.loads((ROOT / "package.json").read_text("utf-8"))["dependencies"]:
        assert NPM["packages"][f"node_modules/{name}"]["license"] == TABLE[name]


def test_no_copyleft_of_the_whole_program_comes_unsaid() -> None:
    """What the demonstration brings, with all that its packages need in turn."""
    for package in (each for each in pins("demo") if each.wanted_here()):
        try:
            stated = stated_licence(distribution(package.name))
        except PackageNotFoundError:
            continue
        assert stated, f"{package.name} states no licence"
        if re.search(r"\bA?GPL", stated):
            assert TABLE.get(package.name) == stated


@pytest.mark.parametrize(
    ("metadata", "text", "licence"),
    [
        ("License-Expression: MIT AND Zlib", "", "MIT AND Zlib"),
        ("License: Apache License, Version 2.0", "", "Apache-2.0"),
        ("Classifier: License :: OSI Approved :: MIT License", "", "MIT"),
        (
            "License: MIT License\nClassifier: License :: OSI Approved :: MIT License\n"
            "Classifier: License :: OSI Approved :: Apache Software License",
            "",
            "Apache-2.0 OR MIT",
        ),
        ("License: GPL", "Permission is hereby granted, free of charge", "GPL"),
        ("License: BSD", f"{FREE}, with or without", "BSD-2-Clause"),
        ("License: " + "words " * 40, f"{FREE}: not to endorse or promote", "BSD-3-Clause"),
        ("Summary: silent", "  Apache License\n  Version 2.0, January 2004", "Apache-2.0"),
        ("Summary: silent", "All rights reserved", ""),
    ],
)
def test_a_licence_is_read_from_metadata_before_files(
    metadata: str, text: str, licence: str, tmp_path: Path
) -> None:
    folder = tmp_path / "thing-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.4\nName: thing\nVersion: 1.0\n{metadata}\n")
    (folder / "LICENSE.txt").write_text(text)
    (folder / "RECORD").write_text("thing-1.0.dist-info/LICENSE.txt,,\nthing-1.0.dist-info/METADATA,,\n")
    assert stated_licence(Distribution.at(folder)) == licence


def test_words_of_no_known_licence_are_none() -> None:
    assert by_words("You may do what you like.") == ""
