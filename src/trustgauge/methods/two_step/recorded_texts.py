"""Texts that others sent: which value each sentence mentions, and which occupation (two-step 1.3, 1.11)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import polars as pl

from trustgauge.data import PLACEHOLDER, Attribute
from trustgauge.errors import MethodError
from trustgauge.methods.two_step.design import PROBES
from trustgauge.methods.two_step.score import LOST, sentences_of
from trustgauge.methods.two_step.sentences import sentence_reader
from trustgauge.methods.two_step.settings import TwoStepSettings

ARTICLE = r"(?:(?:an?|the)\s+)?"


def log_probes(settings: TwoStepSettings, probes: pl.DataFrame) -> pl.DataFrame:
    """The probes of a record with the columns of ours: values and items are read off the texts sent.

    A text with a sentence whose value is not sure gets no values: its answer is unread.

    Raises:
        MethodError: a block of the record is none of the experiment, or no text mentions a value.
    """
    strange = sorted(set(probes["block"]) - set(settings.spec.blocks))
    if strange:
        must = "one of: " + ", ".join(settings.spec.blocks)
        raise MethodError("a block of the records is not known", must=must, got=", ".join(strange[:5]))
    finder = Finder(settings.table)
    found = [finder.mentions(lines) for lines in sentences_of(probes["message"])]
    if not any(found):
        raise MethodError(
            f"no text of the records mentions {settings.table.name}",
            must="sentences such as: " + next(iter(settings.table.patterns.values())),
        )
    numbered = probes.with_columns(
        pattern=pl.lit(""),
        items=pl.Series([[item for item, _ in one] for one in found], dtype=pl.List(pl.String)),
        values=pl.Series([[value for _, value in one] for one in found], dtype=pl.List(pl.Int8)),
        first=pl.lit(value=True),
        first_in_block=pl.lit(value=True),
    )
    return numbered.select(*PROBES, *(name for name in probes.columns if name not in PROBES))


class Finder:
    """Finds the values and occupations that texts mention."""

    def __init__(self, table: Attribute) -> None:
        self.table = table
        lost = {kind: table.other + place for place, kind in enumerate(LOST)}
        self.sentences = sentence_reader(table, lost)
        self.patterns = [
            (value, re.compile(_pattern(table, text, name), re.IGNORECASE))
            for value, name in enumerate(table.values)
            if table.forms(name)
            for text in table.patterns.values()
        ]
        self.mention = lru_cache(maxsize=1 << 16)(self._mention)

    def mentions(self, lines: list[str]) -> list[tuple[str, int]]:
        """Item and value of each sentence of a text; none if one of them has no sure value."""
        found = [self.mention(line) for line in lines]
        return [one for one in found if one] if all(found) else []

    def _mention(self, line: str) -> tuple[str, int] | None:
        for value, pattern in self.patterns:
            if match := pattern.fullmatch(line.strip()):
                return match["item"].strip(), value
        named = self.sentences.items.search(line.lower()) if self.sentences.items else None
        item = named[0] if named else ""
        ((_, reading),) = self.sentences.read(line, (item,) if item else ())
        is_sure = 0 <= reading.code < self.table.other and not reading.more
        return (item, reading.code) if is_sure else None


def _pattern(table: Attribute, text: str, value: str) -> str:
    """A sentence of the attribute with one value, for any item."""
    forms, grammar = table.forms(value), table.grammar.get(value, {})

    def parts() -> Iterator[str]:
        end, item = 0, "(?P<item>.+?)"
        for match in PLACEHOLDER.finditer(text):
            role = match[1].lower()
            before = ARTICLE if role.startswith("an_") else ""
            role = role.removeprefix("an_")
            yield re.escape(text[end : match.start()])
            words = [grammar[role]] if role in grammar else forms.get(role, ())
            if role == "item":
                yield before + item
                item = "(?P=item)"
            else:
                yield before + f"(?:{'|'.join(map(re.escape, words))})"
            end = match.end()
        yield re.escape(text[end:].rstrip(" .!?"))

    return "".join(parts())
