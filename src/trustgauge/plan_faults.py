"""What is wrong with a plan: faults in words, without what could be a secret, and the lines they stand in."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from trustgauge.errors import Fault

KNOWN_KEYS = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|hf_[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16}"
    r"|xox[abpr]-[A-Za-z0-9-]{10,}|AIza[A-Za-z0-9_-]{30,}|(?:bot)?\d{8,10}:[A-Za-z0-9_-]{30,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}|Bearer\s+[A-Za-z0-9._~+/-]{16,})"
)
"""Keys and tokens by their published forms."""
_SECRET = re.compile(r"(?i)key|token|secret|password|auth|header")
_COUNT = re.compile(r"(?i)(tokens|secrets)$")  # settings that say how many
_PASSWORD = re.compile(r"//[^/@\s]*@")


def faults_of(error: ValidationError, model: type[BaseModel], place: str) -> list[Fault]:
    """Pydantic's errors as faults of ours: place, what, must be, got, nearest valid word."""
    faults = []
    for one in error.errors(include_url=False):
        where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in one["loc"])
        where = f"{place}{where}" if place else where.removeprefix(".")
        if one["type"] == "extra_forbidden":
            fields = _settings_at(model, one["loc"][:-1])
            near = get_close_matches(str(one["loc"][-1]), fields, n=1, cutoff=0.6)
            must = ("one of: " + ", ".join(sorted(fields))) if fields else "a known setting"
            do = f'Did you mean "{near[0]}"?' if near else ""
            faults.append(Fault(where, f'no setting "{one["loc"][-1]}"', must=must, do=do))
        elif one["type"] == "missing":
            faults.append(Fault(where, "missing", must="given"))
        else:
            faults.append(_plain_fault(where, one))
    return faults


def _settings_at(model: type[BaseModel], steps: Sequence[Any]) -> tuple[str, ...]:
    """The settings that a model has at a place within; none where the place alone does not say."""
    for step in steps:
        field = model.model_fields.get(str(step))
        if field is None:
            return ()
        kinds = [one for one in (field.annotation, *get_args(field.annotation)) if isinstance(one, type)]
        inner = [one for one in kinds if issubclass(one, BaseModel)]
        if len(inner) != 1:
            return ()
        model = inner[0]
    return tuple(model.model_fields)


def _plain_fault(where: str, one: Any) -> Fault:
    got = printable(where, one.get("input"))
    if one["type"] == "literal_error":
        valid = one["ctx"]["expected"].replace(" or ", ", ").replace("'", "").split(", ")
        near = get_close_matches(str(one["input"]), valid, n=1, cutoff=0.5)
        do = f'Did you mean "{near[0]}"?' if near else ""
        return Fault(where, "no such choice", must="one of: " + ", ".join(valid), got=got, do=do)
    if one["type"] == "union_tag_invalid":
        must = "one of: " + one["ctx"]["expected_tags"].replace("'", "")
        key = one["ctx"]["discriminator"].replace("'", "")
        return Fault(f"{where}.{key}", "no such choice", must=must, got=printable(where, one["ctx"]["tag"]))
    if one["type"] == "union_tag_not_found":
        key = one["ctx"]["discriminator"].replace("'", "")
        return Fault(f"{where}.{key}", "missing", must="given")
    if one["type"] in ("too_short", "too_long"):
        most = one["type"] == "too_long"
        must = f"at most {one['ctx']['max_length']}" if most else f"at least {one['ctx']['min_length']}"
        return Fault(where, "too many" if most else "too few", must=must, got=got)
    if one["type"] in ("tuple_type", "list_type"):
        return Fault(where, "wrong value", must="a list in square brackets", got=got)
    if one["type"] in ("model_type", "dict_type", "mapping_type"):
        must = "a table: { SETTING = VALUE }, or a section of its own in square brackets"
        return Fault(where, "wrong value", must=must, got=got)
    message = one["msg"].removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    for start in ("input should be ", "must be "):
        if message.startswith(start):
            must = message.removeprefix(start).partition(", unable to parse")[0]
            return Fault(where, "wrong value", must=must, got=got)
    return Fault(where, message, got="" if isinstance(one.get("input"), Mapping) else got)


def printable(place: str, value: Any) -> str:
    """A value of a plan as an error may show it: short, and without what could be a secret."""
    name = place.rpartition(".")[2]
    number = isinstance(value, int | float) and _COUNT.search(name)
    if _SECRET.search(name) and value and not number:
        return "a value that is not shown, as it may be a secret"
    text = KNOWN_KEYS.sub("***", _PASSWORD.sub("//***@", repr(value)))
    return text if len(text) <= 80 else text[:77] + "..."


def line_of(place: str, lines: Mapping[str, int]) -> int | None:
    """The line of a setting, or of the innermost table around it; None if there is neither."""
    around = [one for one in lines if place == one or place.startswith((f"{one}.", f"{one}["))]
    return lines[max(around, key=len)] if around else None


_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+|\#[^\n]*)
    |(?P<text>\"{3}(?:\\.|[^\\])*?\"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\])*"|'[^']*')
    |(?P<mark>[][{}=,])
    |(?P<bare>\d{4}-\d\d-\d\d[ ]\d\d:[^\s,\]}\#]*|[^]["'\s{}=,\#]+)""",
    re.VERBOSE | re.DOTALL,
)
"""What TOML is made of. A dot is part of the bare word that it stands in, in keys too."""


def line_numbers(text: str) -> dict[str, int]:
    r"""The line of every key, table and list member of a TOML text that can be read, by its place.

    >>> line_numbers("a = 1\n[[b]]\nc = [\n  { d = 2 },\n]")
    {'a': 1, 'b': 2, 'b[0]': 2, 'b[0].c': 3, 'b[0].c[0]': 4, 'b[0].c[0].d': 4}
    """
    return _Lines(text).read()


class _Lines:
    """Walks over the tokens of a TOML text that was read before, so that nothing has to be checked."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str, int]] = []
        self._next = 0
        self._lines: dict[str, int] = {}
        self._last: dict[str, int] = {}  # list of tables -> number of its latest
        line = 1
        for found in _TOKEN.finditer(text):
            if found.lastgroup != "space":
                self._tokens.append((found.lastgroup or "", found[0], line))
            line += found[0].count("\n")

    def read(self) -> dict[str, int]:
        table = ""
        while self._next < len(self._tokens):
            if self._at("["):
                table = self._header()
            else:
                self._pair(table)
        return self._lines

    def _at(self, mark: str) -> bool:
        """Whether this mark comes next; if so it is passed."""
        here = self._tokens[self._next][:2] == ("mark", mark)
        self._next += here
        return here

    def _header(self) -> str:
        several = self._at("[")
        parts, line = self._key()
        self._next += 1 + several
        table = ""
        for number, part in enumerate(parts, 1):
            table = self._mark(f"{table}.{part}" if table else part, line)
            if several and number == len(parts):
                self._last[table] = self._last.get(table, -1) + 1
            if table in self._last:
                table = self._mark(f"{table}[{self._last[table]}]", line)
        return table

    def _key(self) -> tuple[list[str], int]:
        """The parts of a dotted key, and its line."""
        parts, line = [], self._tokens[self._next][2]
        while self._tokens[self._next][0] != "mark":
            kind, text, _ = self._tokens[self._next]
            self._next += 1
            if kind == "text":
                parts.append(tomllib.loads(f"key = {text}")["key"])
            else:
                parts += [one for one in text.split(".") if one]
        return parts, line

    def _pair(self, table: str) -> None:
        parts, line = self._key()
        self._next += 1
        place = table
        for part in parts:
            place = self._mark(f"{place}.{part}" if place else part, line)
        self._value(place)

    def _value(self, place: str) -> None:
        if self._at("{"):
            while not self._at("}"):
                self._pair(place)
                self._at(",")
        elif self._at("["):
            number = 0
            while not self._at("]"):
                self._value(self._mark(f"{place}[{number}]", self._tokens[self._next][2]))
                self._at(",")
                number += 1
        else:
            self._next += 1

    def _mark(self, place: str, line: int) -> str:
        self._lines.setdefault(place, line)
        return place
