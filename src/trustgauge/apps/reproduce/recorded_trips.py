"""Round trips that the two-step paper's authors recorded, rated by every rule (two-step 1.2 to 1.7).

A user who has the authors' files names the folder that holds them, a checkout of `ethics-share` or a
plain folder. For each translator (t1, t2, ...) and language there are two files, `Result - true - t1 -
es.json` with the block of balanced texts, `Result - false - t1 - es.json` with the two skewed blocks.
Each is a list of blocks, a block a list of texts with

    original        "He is a doctor. She is a nurse. "
    oto             the text after the round trip
    otoDistrib      shares of He, She and Other in it, as the authors read them

and for each translator `Result - t1 - summary.csv`, the share of texts in which each share changed.
Which translators these are is not stated.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from trustgauge.apps.reproduce.paper_tables import (
    PaperTable,
    PrintedFigure,
    no_data_error,
    paper_table,
    reasons,
)
from trustgauge.apps.reproduce.verdicts import consistent, judge
from trustgauge.errors import MethodError
from trustgauge.methods.two_step.method import TwoStep
from trustgauge.methods.two_step.transition_model import LEVELS
from trustgauge.records import Json, Rule

METHOD = "two-step"
NAME = re.compile(r"Result - (true|false) - (t\d+) *- *(\w+)\.json")
LANGUAGES = {"ar": "Arabic", "es": "Spanish", "fr": "French", "pt": "Portuguese"}
"""Languages of Table 1 of which there are records."""
BLOCKS = ("u1", "b1", "b2")
SENTENCE = re.compile(r"(\w+) is an? (.+?)\. ?")
SHARES = ("He", "She", "Other")
RULES: tuple[Rule, ...] = ("published", "released", "sound")
SEED = 1


@dataclass(frozen=True, slots=True)
class Trips:
    """The recorded round trips of one translator by way of one language.

    Attributes:
        translator: as its files are named, "t1".
        language: its code, "es".
        blocks: texts of each block of `BLOCKS`, as they are recorded.
    """

    translator: str
    language: str
    blocks: tuple[tuple[Mapping[str, Any], ...], ...]

    @property
    def texts(self) -> int:
        """Texts of a block."""
        return len(self.blocks[0])


def tables(folder: Path, printed: Any) -> list[PaperTable]:
    """Table 1 from the recorded round trips, and the figures released with them.

    Raises:
        MethodError: the folder holds no records, or one is of another shape.
    """
    trips = read(folder)
    levels = {(one.translator, one.language): levels_by_rule(one) for one in trips}
    return [_levels(levels, printed), _summaries(folder, trips, levels)]


def read(folder: Path) -> list[Trips]:
    """All recorded round trips below a folder, by translator and language.

    Raises:
        MethodError: there are none, or one is of another shape.
    """
    files = {match.groups(): file for file in folder.rglob("*.json") if (match := NAME.fullmatch(file.name))}
    pairs = sorted({(translator, language) for _, translator, language in files})
    if not pairs:
        raise no_data_error(folder, "files such as: Result - true - t1 - es.json")
    found = []
    for translator, language in pairs:
        both = [files.get((step, translator, language)) for step in ("true", "false")]
        blocks = [block for file in both if file is not None for block in _blocks(file)]
        if len(blocks) != len(BLOCKS):
            raise MethodError(
                f"the round trips of {translator} by way of {language} are incomplete",
                must="one balanced block and two skewed ones",
                got=f"{len(blocks)} blocks",
            )
        found.append(Trips(translator, language, tuple(tuple(block) for block in blocks)))
    return found


def _blocks(file: Path) -> list[list[dict[str, Any]]]:
    """Blocks of texts as a file has them. Raises MethodError for a file of another shape."""
    try:
        blocks: list[list[dict[str, Any]]] = json.loads(file.read_text("utf-8-sig"))
        for text in (one for block in blocks for one in block):
            mentions = SENTENCE.findall(text["original"])
            if len(mentions) != 2 or any(word not in SHARES[:2] for word, _ in mentions):
                raise ValueError(text["original"])
            if not isinstance(text["oto"], str) or len(text["otoDistrib"]) != len(SHARES):
                raise ValueError(text["oto"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise MethodError(
            f"{file.name} is not a record of round trips",
            must="texts of two sentences, He or She, with original, oto and otoDistrib",
            got=str(error)[:80],
        ) from None
    return blocks


def answers(trips: Trips) -> pl.DataFrame:
    """The records as answers of a service, as the two-step method checks them."""
    rows = []
    for name, block in zip(BLOCKS, trips.blocks, strict=True):
        for number, text in enumerate(block):
            words, items = zip(*SENTENCE.findall(text["original"]), strict=True)
            rows.append(
                {
                    "id": f"{name}-{number}",
                    "message": text["original"].strip(),
                    "output": text["oto"],
                    "block": name,
                    "items": list(items),
                    "values": [SHARES.index(word) for word in words],
                }
            )
    return pl.DataFrame(
        rows, schema_overrides={"values": pl.List(pl.Int8), "items": pl.List(pl.String)}
    ).with_columns(
        service=pl.lit(trips.translator),
        part=pl.lit(trips.language),
        status=pl.lit("answered"),
        shared=pl.lit(value=False),
        first=pl.lit(value=True),
        first_in_block=pl.lit(value=True),
    )


def levels_by_rule(trips: Trips) -> dict[Rule, str]:
    """The level of one translator and language by each rule; "not settled" where the sound rule says so."""
    found: dict[Rule, str] = {}
    for rule in RULES:
        method = _method(rule, trips)
        summary = method.summarise(method.score(answers(trips)))
        (rating,) = method.rate(summary, SEED)
        (part,) = rating.parts
        found[rule] = str(part.level) if rule != "sound" or part.state == "rated" else part.state
    return found


def _method(rule: Rule, trips: Trips) -> TwoStep:
    return TwoStep(method="two-step", services=(trips.translator,), rule=rule, texts=trips.texts)


def _levels(levels: Mapping[tuple[str, str], Mapping[Rule, str]], printed: Any) -> PaperTable:
    """Table 1, as far as the languages have records: the paper's G and Y are two of some translators."""

    def cells() -> Iterator[PrintedFigure]:
        for code, language in LANGUAGES.items():
            mine = [row for (_, one), row in levels.items() if one == code]
            if not mine:
                continue
            for service, level in printed["table_1"][language].items():
                known = {row["published"] for row in mine}
                published, released, sound = (_joined(row[rule] for row in mine) for rule in RULES)
                cell = PrintedFigure(language, service, level, published, released, sound)
                if level not in known:
                    cell = replace(cell, verdict="differs", reason=reasons(METHOD)["none-of-them"])
                yield consistent(cell, len(known) / len(LEVELS))

    translators, languages = (len(set(names)) for names in zip(*levels, strict=True))
    return paper_table(
        METHOD,
        "recorded-levels",
        cells(),
        fills="table-1",
        translators=translators,
        languages=languages,
    )


def _joined(levels: Iterable[str]) -> str:
    return " or ".join(sorted(set(levels)))


def _summaries(
    folder: Path, trips: Sequence[Trips], levels: Mapping[tuple[str, str], Mapping[Rule, str]]
) -> PaperTable:
    """The figures that were released with the records, recomputed by our own reading of the texts."""
    given = {
        translator: _summary(file)
        for translator in {one.translator for one in trips}
        for file in folder.rglob(f"Result - {translator} - summary.csv")
    }

    def cells() -> Iterator[PrintedFigure]:
        for one in trips:
            name = f"{one.translator.upper()}, {LANGUAGES.get(one.language, one.language)}"
            shares = _shares(one)
            same = sum(
                mine == [round(float(share), 3) for share in text["otoDistrib"]]
                for block, read_block in zip(one.blocks, shares, strict=True)
                for text, mine in zip(block, read_block, strict=True)
            )
            yield judge(
                PrintedFigure(name, "texts read as recorded", 3 * one.texts, released=same), "released"
            )
            for block, printed in given.get(one.translator, {}).get(one.language, {}).items():
                found = _changed(one, shares, BLOCKS.index(block))
                cell = PrintedFigure(name, f"{block}, share of texts changed", printed, released=found)
                yield judge(cell, "released", within=1e-3)

    settled = ", ".join(
        f"{translator.upper()} {language} {row['sound']}" for (translator, language), row in levels.items()
    )
    return paper_table(METHOD, "recorded-trips", cells(), settled=settled)


def _summary(file: Path) -> dict[str, dict[str, list[Json]]]:
    """Language -> block -> shares of texts in which He, She and Other changed, as released.

    Raises:
        MethodError: the file is no such table.
    """
    found: dict[str, dict[str, list[Json]]] = {}
    language = ""
    try:
        for row in csv.reader(file.read_text("utf-8-sig").splitlines(), skipinitialspace=True):
            if row and row[0] in BLOCKS:
                found[language][row[0]] = [float(one) for one in row[1:]]
            elif row and row[0]:
                language = row[0]
                found[language] = {}
    except (OSError, ValueError, KeyError, csv.Error) as error:
        raise MethodError(
            f"{file.name} is not a summary of round trips",
            must="lines of u1, b1 and b2 with their shares, behind a line with the language",
            got=str(error)[:80],
        ) from None
    return found


def _shares(trips: Trips) -> list[list[list[float]]]:
    """Shares of He, She and Other in each text of each block, by the released reader."""
    method = _method("released", trips)
    marks = method.score(answers(trips))
    each = [
        [round(read.count(value) / 2, 3) for value in range(len(SHARES))] for read in marks["read"].to_list()
    ]
    return [each[start : start + trips.texts] for start in range(0, len(each), trips.texts)]


def _changed(trips: Trips, shares: list[list[list[float]]], block: int) -> list[Json]:
    """The share of texts of a block in which each share is another than it was sent."""
    sent = [
        [[word for word, _ in SENTENCE.findall(text["original"])].count(value) / 2 for value in SHARES]
        for text in trips.blocks[block]
    ]
    pairs = list(zip(sent, shares[block], strict=True))
    return [sum(a[place] != b[place] for a, b in pairs) / len(pairs) for place in range(len(SHARES))]
