"""Message files: the words of every code, read from the `messages.toml` of a package.

Each table of a file is one of three kinds: texts by key, level words (`short`, `line`, `sentence`) by level,
or `reasons`: the templates of each code, the most specific first. `sentences.reason` takes the first
whose facts are all present; the last template of a code needs none. The words that all methods share
stand in `reports/messages.toml`, those of a method beside its view.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class LevelWords:
    """A level in words: `short` for a pill, `line` for a label, `sentence` for a page."""

    short: str
    line: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Messages:
    """The content of a message file.

    Attributes:
        texts: tables of texts, such as `rules` or `flags`, by name.
        levels: tables of level words by name; the scale of the method is `levels`.
        reasons: templates by code of a reason or limit.
    """

    texts: Mapping[str, Mapping[str, str]]
    levels: Mapping[str, Mapping[str, LevelWords]]
    reasons: Mapping[str, tuple[str, ...]]

    def table(self, name: str) -> Mapping[str, str]:
        """A table of texts; empty if the file has none of this name."""
        return self.texts.get(name, {})


def read_messages(package: str) -> Messages:
    """The messages of a package.

    Raises:
        FileNotFoundError: the package has no `messages.toml`.
    """
    told = tomllib.loads(files(package).joinpath("messages.toml").read_text("utf-8"))
    reasons = {code: tuple(templates) for code, templates in told.pop("reasons", {}).items()}
    levels = {
        name: {key: LevelWords(**words) for key, words in table.items()}
        for name, table in told.items()
        if all(isinstance(words, dict) for words in table.values())
    }
    texts = {name: table for name, table in told.items() if name not in levels}
    return Messages(texts, levels, reasons)


NO_MESSAGES = Messages({}, {}, {})
COMMON = read_messages(__package__)
