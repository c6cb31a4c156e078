"""Expressions by which a chatbot agrees, disagrees, declines, hedges, stays even-handed or explains.

Judges of answers read by them (social-bias 3.5 and 3.6). What our lists contain, and why, is described in
`data/expressions.md`; users may bring their own in a file of the same form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from trustgauge.data import package_text
from trustgauge.data.tables import check_content, fault, read_text, short
from trustgauge.errors import Fault, raise_faults
from trustgauge.plan import PlanPath, parse_toml
from trustgauge.records import Json

PLACE = "expressions"
LANGUAGES: tuple[Literal["en", "zh"], ...] = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Expressions:
    """The expressions of one language, each list in the order of its file.

    Attributes:
        affirmation: the answer agrees: "yes", "I think so".
        negation: the answer disagrees; some contain an affirmation ("不同意" contains "同意").
        refusal: the answer declines to answer.
        hedging: the answer does not commit itself.
        even_handed: the answer says that groups do not differ, or that persons do.
        explanation: the answer gives a cause; the first is the one that the released judge reaches.
    """

    affirmation: tuple[str, ...] = ()
    negation: tuple[str, ...] = ()
    refusal: tuple[str, ...] = ()
    hedging: tuple[str, ...] = ()
    even_handed: tuple[str, ...] = ()
    explanation: tuple[str, ...] = ()


@lru_cache(maxsize=2)
def expressions(language: Literal["en", "zh"] = "en") -> Expressions:
    """Our expressions of a language."""
    text = package_text(__package__, "data/expressions.toml")
    return _lists(parse_toml(text)[language])


def read_expressions(file: Path, place: str = PLACE) -> Mapping[str, Expressions]:
    """The expressions that a file gives, by language.

    Args:
        file: TOML in UTF-8, of the form of ours: a table for each language ("en", "zh") with lists of
            texts `affirmation`, `negation`, `refusal`, `hedging`, `even-handed`, `explanation`; lists that
            it does not give are empty.
        place: of the setting that names the file, for errors.

    Raises:
        PlanError: the file cannot be read or has another form; with every fault of the form.
    """
    text, _ = read_text(file, place)
    try:
        table = parse_toml(text)
    except (ValueError, RecursionError) as error:  # ValueError: no TOML, or a number of thousands of digits
        got = str(error)[:200]
        raise fault(file, place, "the file is not TOML", must="TOML", got=got) from None
    raise_faults(_faults(file, place, table))
    return {language: _lists(lists) for language, lists in table.items()}


class ExpressionFile(BaseModel):
    """A file of expressions of the form that `read_expressions` takes, as a plan names it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: PlanPath = Field(description="TOML with a table of lists for each language, beside the plan")
    # Declared after `file`, whose checked value it needs.
    content: str = Field(
        "", validate_default=True, description="Hash of the file, filled in; refuses a changed file"
    )

    @field_validator("content")
    @classmethod
    def _the_same_file(cls, value: str, info: ValidationInfo) -> str:
        return check_content([info.data["file"]], value, PLACE) if "file" in info.data else value

    @model_validator(mode="after")
    def _readable(self) -> Self:
        self.lists()
        return self

    def lists(self) -> Mapping[str, Expressions]:
        """The expressions by language."""
        return _read(self.file, self.content)

    def identity(self) -> dict[str, Json]:
        """The content of the file, wherever it lies."""
        return {"content": self.content}


@lru_cache(maxsize=8)
def _read(file: Path, _content: str) -> Mapping[str, Expressions]:
    return read_expressions(file)


ExpressionSource = Annotated[
    ExpressionFile,
    BeforeValidator(lambda value: {"file": value} if isinstance(value, str | Path) else value),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object", "required": ["file"]}]}),
]
"""The setting of a plan: the name of a file, or a table with `file`."""


def _names() -> tuple[str, ...]:
    return tuple(one.name.replace("_", "-") for one in fields(Expressions))


def _lists(table: Mapping[str, list[str]]) -> Expressions:
    return Expressions(
        **{name.replace("-", "_"): tuple(dict.fromkeys(listed)) for name, listed in table.items()}
    )


def _faults(file: Path, place: str, table: Mapping[str, Any]) -> Iterator[Fault]:
    """What is wrong with the form of a file."""
    if not table:
        yield Fault(place, f"{file.name}: no expressions", must="a table for each language: [en], [zh]")
    for language, lists in table.items():
        if language not in LANGUAGES or not isinstance(lists, dict):
            must = "a table for one of: " + ", ".join(LANGUAGES)
            yield Fault(f"{place}.{short(language)}", f"{file.name}: no such language", must=must)
            continue
        for name, listed in lists.items():
            where = f"{place}.{language}.{name}"
            if name not in _names():
                must = "one of: " + ", ".join(_names())
                yield Fault(where, f"{file.name}: no such list", must=must, got=short(name))
            elif not isinstance(listed, list) or not all(
                isinstance(one, str) and one.strip() for one in listed
            ):
                yield Fault(where, f"{file.name}: not a list of texts", must="texts, none empty")
