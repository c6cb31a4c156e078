"""Social groups: our own list, and users' tables (social-bias 3.1).

A group belongs to one attribute; groups are compared within it only. What our list holds, and why, is
described in `social/groups.md`. Invented groups (`control`) stand among them: nobody can know anything of
them, so what a service says of them is its own noise (social-bias 3.4).
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Literal, Self

import polars as pl
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from trustgauge.data import group_cells as cells_of
from trustgauge.data.tables import (
    CHINESE,
    NAMES,
    check_content,
    fault,
    need_columns,
    read_table,
    read_text,
    short,
    text_of_table,
)
from trustgauge.data.translations import row_by_row
from trustgauge.errors import PlanError
from trustgauge.plan import PlanPath, PlanPaths
from trustgauge.records import Json

PLACE = "group_table"
ATTRIBUTES = (
    "ability",
    "age",
    "body",
    "character",
    "culture",
    "gender",
    "profession",
    "race",
    "religion",
    "social",
    "victim",
)
"""The attributes of social-bias 3.1; a table that is brought can have others."""
DROPPED = ("delete", "discard")
"""What annotators write in a row that is to be left out; in any case of letters."""

Language = Literal["en", "zh"]
Layout = Literal["biasasker", "holistic-bias", "general"]
Role = Literal["attribute", "plural", "singular", "aliases", "zh", "zh_aliases", "offensive", "control"]
ROLES: tuple[Role, ...] = (
    "attribute",
    "plural",
    "singular",
    "aliases",
    "zh",
    "zh_aliases",
    "offensive",
    "control",
)
COLUMNS: Mapping[Layout, Mapping[Role, str]] = {
    "biasasker": {"attribute": "category", "plural": "group", "zh": "translate"},
    "holistic-bias": {},
    "general": {role: role for role in ROLES},
}
"""The columns of each layout, in any case of letters; those that the plan names stand in their place."""
NEEDED: tuple[Role, Role] = ("attribute", "plural")


@dataclass(frozen=True, slots=True)
class Group:
    """People who are spoken of as one.

    Attributes:
        id: a slug, unique in its list.
        attribute: what the people of the group have in common, one of `ATTRIBUTES` in our list.
        singular: the name of one of them, without article: "person with asthma".
        plural: the name of all of them: "people with asthma".
        aliases: further English names, singular and plural, by which an answer may call them.
        zh: the name in Chinese; "" if the table has none.
        zh_aliases: further Chinese names.
        offensive: whether the name demeans; such names are masked where they are shown.
        control: whether the group is invented.
    """

    id: str
    attribute: str
    singular: str
    plural: str
    aliases: tuple[str, ...] = ()
    zh: str = ""
    zh_aliases: tuple[str, ...] = ()
    offensive: bool = False
    control: bool = False

    def forms(self, language: Language = "en") -> tuple[str, ...]:
        """All names in a language, each once, none empty; the one that questions use first.

        >>> Group("men", "gender", "man", "men", ("guys",)).forms()
        ('men', 'man', 'guys')
        """
        all_names = (self.plural, self.singular, *self.aliases)
        named = all_names if language == "en" else (self.zh, *self.zh_aliases)
        return tuple(dict.fromkeys(name for name in named if name))


def groups(source: GroupSource | None = None) -> tuple[Group, ...]:
    """The groups of a table, or ours, in the order of the table; invented ones are among them."""
    return _shipped() if source is None else _load(source).groups


def ambiguous_names(
    named: Iterable[Group], language: Language = "en"
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Names that stand for more than one group of an attribute, so that an answer cannot be read by them.

    Returns:
        (attribute, name in lower case) -> ids of the groups that have it, in their order.
    """
    owners: defaultdict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for group in named:
        for form in group.forms(language):
            owners[group.attribute, form.casefold()][group.id] = None
    return {key: tuple(ids) for key, ids in owners.items() if len(ids) > 1}


class GroupSource(BaseModel):
    """One or more tables of social groups, and how they are read.

    Layout `biasasker` has the columns category, group and perhaps translate (Chinese), in any case of
    letters. Layout `holistic-bias` takes the JSON files of descriptors or of noun phrases by axis;
    descriptors name "people", terms that their people disprefer are marked offensive, and invented words
    (axis "nonce") become controls of every attribute. Layout `general` has columns that are called like
    our own, or that the plan names in `columns`; several names in a cell are separated by "|".
    `translation` has the Chinese of each row in its one column, Translation, as BiasAsker's full list has.

    Rows marked "delete" or "discard", empty rows and further rows of a group are left out; `report()`
    counts them. A singular that the table does not have is made from the plural by rules.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    layout: Layout = Field("general", description="Shape of the table")
    file: PlanPaths = Field(min_length=1, description="CSV, TSV, JSON lines or JSON, UTF-8 or GB18030")
    translation: PlanPath | None = Field(
        None, description="Chinese of the groups, row by row beside one file"
    )
    separator: str = Field(
        "", description="Of a CSV file; by default that of its header: comma, semicolon or tab"
    )
    columns: Mapping[Role, str] = Field({}, description="Column of each role; by layout")
    attributes: Mapping[str, str] = Field({}, description="Label of the table -> attribute")
    controls: bool = Field(True, description="Add our invented groups where an attribute has none")
    # Declared after `file`, whose checked value it needs.
    content: str = Field(
        "", validate_default=True, description="Hash of the files, filled in; refuses a changed file"
    )

    @field_validator("translation")
    @classmethod
    def _beside(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        if value is not None and len(info.data.get("file", ())) > 1:
            what = "translations stand row by row beside one table"
            raise PlanError.of(f"{PLACE}.translation", what, must="one file of groups")
        return value

    @field_validator("attributes")
    @classmethod
    def _folded(cls, value: Mapping[str, str]) -> Mapping[str, str]:
        return {cells_of.label(key): cells_of.label(attribute) for key, attribute in value.items()}

    @field_validator("content")
    @classmethod
    def _the_same_files(cls, value: str, info: ValidationInfo) -> str:
        named = info.data.get("file")
        if not named:
            return value
        return check_content(_with(named, info.data.get("translation")), value, f"{PLACE}.file")

    @model_validator(mode="after")
    def _readable(self) -> Self:
        if self.separator and len(self.separator.encode()) != 1:
            what = "no separator"
            place = f"{PLACE}.separator"
            raise PlanError.of(place, what, must="one ASCII character", got=self.separator)
        if self.layout == "holistic-bias" and self.columns:
            what = "this layout has no columns"
            raise PlanError.of(f"{PLACE}.columns", what, do="Leave `columns` out")
        _load(self)
        return self

    def __hash__(self) -> int:
        names = tuple(sorted(self.columns.items())), tuple(sorted(self.attributes.items()))
        return hash((self.content, self.file, self.layout, self.separator, self.controls, names))

    def identity(self) -> dict[str, Json]:
        """The settings, with the content of the files in place of where they lie."""
        facts = {} if self.translation is None else {"translation": True}
        return self.model_dump(mode="json", exclude={"file", "translation"}) | facts

    def report(self) -> dict[str, Json]:
        """What became of the rows.

        Returns:
            encodings: of each file; rows: read; deleted, empty, duplicates: rows left out for that
            reason; groups: what is left; controls_added: invented groups of ours beside them;
            same_singular: groups whose name has no plural that the rules know, so that one of them is
            called as all of them are; shared_forms: names that stand for two groups of an attribute,
            both languages; attributes: groups of each, with the invented ones.
        """
        return dict(_load(self).report)


def _with(named: tuple[Path, ...], translation: Path | None) -> tuple[Path, ...]:
    return named if translation is None else (*named, translation)


@dataclass(frozen=True, slots=True)
class _Loaded:
    groups: tuple[Group, ...]
    report: Mapping[str, Json]


@lru_cache(maxsize=1)
def _shipped() -> tuple[Group, ...]:
    with files("trustgauge.data").joinpath("social", "groups.csv").open(encoding="utf-8") as opened:
        return tuple(_group(row, row["id"], row["singular"]) for row in csv.DictReader(opened))


def _group(row: Mapping[str, str], name: str, singular: str) -> Group:
    return Group(
        id=name,
        attribute=row["attribute"],
        singular=singular,
        plural=row["plural"],
        aliases=cells_of.names(row["aliases"]),
        zh=row["zh"],
        zh_aliases=cells_of.names(row["zh_aliases"]),
        offensive=row["offensive"] == "1",
        control=row["control"] == "1",
    )


@lru_cache(maxsize=8)
def _load(source: GroupSource) -> _Loaded:
    """Read a source once. Rows are numbered from 1, the first below the header."""
    check_content(_with(source.file, source.translation), source.content, f"{PLACE}.file")
    rows = pl.concat([_read(source, file) for file in source.file])
    marked = pl.any_horizontal(pl.col("attribute", "plural", "zh").str.to_lowercase().is_in(DROPPED))
    kept = rows.filter(~marked)
    filled = kept.filter((pl.col("attribute") != "") & (pl.col("plural") != ""))
    spread = _every_attribute(filled)
    once = spread.unique(["attribute", "key"], keep="first", maintain_order=True)
    if not len(once):
        raise fault(source.file[0], f"{PLACE}.file", "no group in the table", must="at least one")
    made = cells_of.distinct_ids(once["plural"], once["attribute"])
    read = tuple(
        _group(row, name, row["singular"] or cells_of.singular(row["plural"]))
        for name, row in zip(made, once.iter_rows(named=True), strict=True)
    )
    added = tuple(_added(read)) if source.controls else ()
    shared = sum(len(ambiguous_names(read + added, language)) for language in ("en", "zh"))
    report: dict[str, Json] = {
        "encodings": [NAMES[read_text(file, PLACE, CHINESE)[1]] for file in source.file],
        "rows": len(rows),
        "deleted": len(rows) - len(kept),
        "empty": len(kept) - len(filled),
        "duplicates": len(spread) - len(once),
        "groups": len(read),
        "controls_added": len(added),
        "same_singular": sum(one.singular == one.plural for one in read),
        "shared_forms": shared,
        "attributes": dict(sorted(Counter(one.attribute for one in read + added).items())),
    }
    return _Loaded(read + added, report)


def _read(source: GroupSource, file: Path) -> pl.DataFrame:
    """One file as the columns of `ROLES`, and `key`, by which a group is the same as another."""
    if source.layout == "holistic-bias":
        table = cells_of.by_axis(file, f"{PLACE}.file", text_of_table(file, f"{PLACE}.file", CHINESE))
        named: dict[str, str] = {role: role for role in table.columns}
    else:
        table = read_table(file, f"{PLACE}.file", source.separator, CHINESE)
        # Columns of a layout are found in any case; those of the plan are taken at its word.
        there = {name.strip().casefold(): name for name in reversed(table.columns)}
        usual: Mapping[str, str] = {
            role: there.get(name, name) for role, name in COLUMNS[source.layout].items()
        }
        named = {**usual, **{str(role): name for role, name in source.columns.items()}}
        wanted = {role: name for role, name in named.items() if role in (*NEEDED, *source.columns)}
        need_columns(file, table, {f"{PLACE}.columns.{role}": name for role, name in wanted.items()})
    cells: dict[str, pl.Series] = {
        role: cells_of.tidy(table[named[role]])
        if named.get(role) in table.columns
        else pl.Series([""] * len(table), dtype=pl.String)
        for role in ROLES
    }
    if source.translation is not None:
        rows = row_by_row(source.translation, f"{PLACE}.translation", len(table))
        cells["zh"] = cells_of.tidy(pl.Series(rows, dtype=pl.String))
    for role in ("offensive", "control"):
        cells[role] = _flag(file, role, cells[role])
    labels = cells["attribute"].map_elements(cells_of.label, return_dtype=pl.String)
    cells["attribute"] = labels.replace({**cells_of.SYNONYMS, **source.attributes})
    return pl.DataFrame({**cells, "key": cells["plural"].str.to_lowercase()})


def _flag(file: Path, role: str, cells: pl.Series) -> pl.Series:
    """Cells that say yes or no, as "1" or "0"."""
    decoded = cells.str.to_lowercase().replace_strict(cells_of.FLAGS, default=None, return_dtype=pl.String)
    if decoded.null_count():
        odd = cells.filter(decoded.is_null())[0]
        must = "one of: " + ", ".join(name for name in cells_of.FLAGS if name)
        place = f"{PLACE}.columns.{role}"
        raise fault(file, place, f"a cell of {role} is neither yes nor no", must=must, got=short(odd))
    return decoded


def _every_attribute(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows, with those of `cells_of.EVERY` attribute repeated for each that the others have."""
    general = pl.col("attribute") == cells_of.EVERY
    attributes = rows.filter(~general)["attribute"].unique(maintain_order=True)
    spread = rows.filter(general).with_columns(
        attribute=pl.lit(attributes.to_list(), dtype=pl.List(pl.String))
    )
    return pl.concat([rows.filter(~general), spread.explode("attribute").drop_nulls("attribute")])


def _added(read: tuple[Group, ...]) -> Iterator[Group]:
    """Our invented groups, for each attribute that has none; one that we do not know gets our peoples."""
    taken = {one.id for one in read}
    has = {one.attribute for one in read if one.control}
    for attribute in dict.fromkeys(one.attribute for one in read):
        if attribute in has:
            continue
        theirs = attribute if attribute in ATTRIBUTES else "culture"
        for one in _shipped():
            if one.control and one.attribute == theirs:
                name = one.id if attribute in ATTRIBUTES else f"{one.id}-{cells_of.slug(attribute)}"
                while name in taken:
                    name += "-control"
                taken.add(name)
                yield replace(one, attribute=attribute, id=name)
