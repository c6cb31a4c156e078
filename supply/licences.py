"""The licence that an installed package states in its metadata or, where these say nothing, in its files."""

from __future__ import annotations

from importlib.metadata import Distribution

SPDX = {
    "MIT License": "MIT",
    "The MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "2-clause BSD": "BSD-2-Clause",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "PSFL": "PSF-2.0",
}
"""Names of licences as packages write them, and their identifiers."""
VAGUE = {"", "BSD", "BSD License", "UNKNOWN"}
LONGEST = 60
"""Characters: some packages put the whole text where the name belongs."""


def stated_licence(package: Distribution) -> str:
    """An SPDX expression where one can be told, else the package's own word, '' where it says nothing."""
    about = package.metadata
    if "License-Expression" in about:
        return about["License-Expression"]
    kinds = [kind for kind in about.get_all("Classifier", []) if kind.startswith("License ::")]
    classified = sorted({spdx(kind.rpartition(" :: ")[2]) for kind in kinds} - VAGUE)
    if len(classified) > 1:
        return " OR ".join(classified)
    field = about["License"].strip() if "License" in about else ""
    named = spdx(field) if len(field) <= LONGEST else ""
    if named not in VAGUE:
        return named
    return classified[0] if classified else in_files(package)


def spdx(name: str) -> str:
    """The identifier of a licence by its name, or the name itself."""
    return SPDX.get(name, name)


def in_files(package: Distribution) -> str:
    """The licence whose words stand in the package's own licence file, '' where none is known."""
    files = [file for file in package.files or [] if file.stem.upper() in {"LICENSE", "LICENCE", "COPYING"}]
    own = [file for file in files if file.parts[0].endswith(".dist-info")]
    texts = [file.locate().read_text(encoding="utf-8", errors="replace") for file in own]  # type: ignore[attr-defined]
    return next((name for text in texts if (name := by_words(text))), "")


def by_words(text: str) -> str:
    """The licence that begins so."""
    words = " ".join(text.split())
    if "Apache License Version 2.0" in words:
        return "Apache-2.0"
    if "Permission is hereby granted, free of charge" in words:
        return "MIT"
    if "Redistribution and use in source and binary forms" in words:
        return "BSD-3-Clause" if "endorse or promote" in words else "BSD-2-Clause"
    return ""
