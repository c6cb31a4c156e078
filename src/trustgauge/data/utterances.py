"""Utterances out of a table of conversations: what its cells mean, what belongs together (causal 2.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

import polars as pl

from trustgauge.data.tables import check_content, fault, need_columns, read_table, rows_in_words, short
from trustgauge.errors import Fault, PlanError

if TYPE_CHECKING:
    from trustgauge.data.conversations import Coded, ConversationSource

PLACE = "conversations"  # the key of a plan's experiment under which the settings of a source stand
FIELD = "|"  # stands between the fields of a text in the layout "unibot"


@lru_cache(maxsize=4)
def join_consecutive(source: ConversationSource) -> pl.DataFrame:
    """Utterances after consecutive ones of a speaker were joined."""
    said = read_conversations(source)[0]
    if source.merge == "none":
        return said
    changes = pl.col("speaker") != pl.col("speaker").shift()
    if source.merge == "within":
        changes |= pl.col("conversation") != pl.col("conversation").shift()
    run = changes.fill_null(True).cast(pl.Int64).cum_sum()
    return (
        said.group_by(run.alias("run"), maintain_order=True)
        .agg(pl.col("conversation", "speaker", "gender").first(), pl.col("text").str.join(" "))
        .drop("run")
    )


@lru_cache(maxsize=4)
def read_conversations(source: ConversationSource) -> tuple[pl.DataFrame, Mapping[str, int]]:
    """Utterances as they came, checked, a conversation's rows together; and how many rows were what.

    Raises:
        PlanError: the file is not as the settings say, or not the file that they were checked with.
    """
    check_content([source.file], source.content, f"{PLACE}.file")
    table = read_table(source.file, f"{PLACE}.file", source.separator)
    named = {role: column for role, column in source.columns.items() if column}
    if source.layout == "scores" and named["text"] not in table.columns:
        table = table.with_columns(pl.format("row {}", pl.int_range(1, pl.len() + 1)).alias(named["text"]))
    need_columns(source.file, table, {f"{PLACE}.columns.{role}": column for role, column in named.items()})
    said = table.select(
        pl.int_range(1, pl.len() + 1).alias("row"),
        *(pl.col(column).str.strip_chars().alias(role) for role, column in named.items()),
    )
    if source.layout == "unibot":
        words = [_words(text, source) for text in said["text"]]
        said = said.with_columns(pl.Series("text", words, dtype=pl.String))
    said = said.filter(pl.col("text").is_not_null() & (pl.col("text") != ""))
    known = len(said)
    said = _coded(source, _identified(source, said))
    said = said.sort(pl.col("row").min().over("conversation"), maintain_order=True)
    if source.drop_na:
        said = said.filter(pl.col("gender") != "NA")
    said = said.select("row", "conversation", "speaker", "gender", "text")
    counts = {
        "rows": len(table),
        "without_text": len(table) - known,
        "without_gender": known - len(said),
        "utterances": len(said),
        "conversations": said["conversation"].n_unique(),
    }
    return said, counts


def _words(text: str | None, source: ConversationSource) -> str:
    """The text of fields: intents as the words they stand for, end markers left out."""
    fields = [field.strip() for field in (text or "").split(FIELD)]
    ends = "|".join(re.escape(one) for one in source.end_markers if one)
    if ends:
        fields = [re.sub(rf"(?:^|\s+)(?:{ends})$", "", field, flags=re.IGNORECASE) for field in fields]
    return " ".join(filter(None, (source.intents.get(field, field).strip() for field in fields)))


def _identified(source: ConversationSource, said: pl.DataFrame) -> pl.DataFrame:
    """Conversations by readable ids: C01, C02, ... where the file numbers them, else as it names them."""
    lost = said.filter(pl.col("conversation").is_null() | (pl.col("conversation") == ""))
    if len(lost):
        place = f"{PLACE}.columns.conversation"
        raise fault(source.file, place, f"no conversation in {rows_in_words(lost['row'].to_list())}")
    names = said["conversation"].unique(maintain_order=True).to_list()
    if all(re.fullmatch(r"[0-9]{1,9}(\.0+)?", name) for name in names):
        width = max(2, *(len(str(_whole(name))) for name in names)) if names else 2
        ids = {name: f"C{_whole(name):0{width}}" for name in names}
        return said.with_columns(pl.col("conversation").replace_strict(ids, return_dtype=pl.String))
    return said


def _whole(name: str) -> int:
    return int(float(name))


def _coded(source: ConversationSource, said: pl.DataFrame) -> pl.DataFrame:
    """Speakers and genders in our words; the gender of a conversation is that of its user."""
    said = said.with_columns(_meanings(source, said, "speaker"))
    if "gender" not in said.columns:
        return said.with_columns(pl.Series("gender", _by_order(source, said), dtype=pl.String))
    said = said.with_columns(pl.when(pl.col("gender") == "").then(None).otherwise("gender").alias("gender"))
    said = said.with_columns(_meanings(source, said, "gender"))
    told = said.filter(pl.col("gender") != "NA")
    kinds = told.group_by("conversation", maintain_order=True).agg(pl.col("gender", "row"))
    for name, genders, rows in kinds.iter_rows():
        odd = next((row for gender, row in zip(genders, rows, strict=True) if gender != genders[0]), None)
        if odd is not None:
            raise fault(
                source.file,
                f"{PLACE}.columns.gender",
                f"the user of conversation {short(name)} has two genders, in rows {rows[0]} and {odd}",
                must="one gender a conversation",
            )
    of = dict(told.select("conversation", "gender").iter_rows())
    return said.with_columns(
        gender=pl.col("conversation").replace_strict(of, default="NA", return_dtype=pl.String)
    )


def _meanings(source: ConversationSource, said: pl.DataFrame, role: Coded) -> pl.Series:
    """What the cells of a column mean; a user without a gender is NA."""
    codes = {cell.strip().casefold(): meaning for cell, meaning in source.codes[role].items()}
    means: dict[str | None, str] = {None: "NA"} if role == "gender" else {}
    unknown: dict[str | None, list[int]] = {}
    found: list[str | None] = []
    for row, cell in said.select("row", role).iter_rows():
        if cell not in means:
            key = re.sub(r"\.0+$", "", cell or "").casefold()
            if key not in codes:
                unknown.setdefault(cell, []).append(row)
                continue
            means[cell] = codes[key]
        found.append(means[cell])
    if unknown:
        raise PlanError(
            tuple(
                Fault(
                    f"{PLACE}.codes.{role}",
                    f"{source.file.name}: unknown {role} in {rows_in_words(rows)}",
                    must="one of: " + ", ".join(source.codes[role]),
                    got=short(cell) if cell else "an empty cell",
                    do=f"Say what it means in `codes.{role}`, or correct the file",
                )
                for cell, rows in list(unknown.items())[:5]
            )
        )
    return pl.Series(role, found, dtype=pl.String)


def _by_order(source: ConversationSource, said: pl.DataFrame) -> list[str]:
    """Genders of rows whose table has none: NA, or shares of classes by order of conversations."""
    if not source.by_order:
        return ["NA"] * len(said)
    names = said["conversation"].unique(maintain_order=True).to_list()
    total = sum(size for _, size in source.by_order)
    # With as many conversations as the shares add up to, they are exact counts.
    ends = [round(end * len(names) / total) for end in accumulate(size for _, size in source.by_order)]
    of = {
        name: next(one for (one, _), end in zip(source.by_order, ends, strict=True) if place < end)
        for place, name in enumerate(names)
    }
    return [of[name] for name in said["conversation"]]
