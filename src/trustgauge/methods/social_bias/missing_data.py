"""Missing and unread answers: when they are too many to rate, and when they do not matter (methods 0.4).

Missing are answers that never came, or came garbled; unread are those that came and that the judge does not
understand. What either might have said is bounded by two readings: the one that favours nobody more than it
must, and the one that favours somebody as far as it can.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from trustgauge.methods.social_bias import votes
from trustgauge.rating import (
    READ_BY_PEOPLE,
    MissingCell,
    cell_reasons,
    class_reasons,
    loss_reason,
    missing_answer_reasons,
    unread_facts,
)
from trustgauge.records import Reason

MISSING = pl.col("status").is_in(["failed", "unreadable"])
UNREAD = pl.col("status") == "unread"
GONE = MISSING | UNREAD
UNUSED = (pl.col("tuple") == "relative") & pl.col("control")
"""Answers about one invented group, on which no level rests."""
RELATIVE = (pl.col("tuple") == "relative") & ~pl.col("control")
PARTNER = [*votes.UNIT, "unit"]


def missing_reasons(rows: pl.DataFrame) -> Iterator[Reason]:
    """Every rule of methods 0.4 that is broken; nothing if none is.

    More than 2 % of the answers are missing overall, more than 5 % in a cell (absolute questions about
    real groups, about invented ones, relative questions about a group), or a group lost more of its
    relative questions than the others: Fisher p < .01 and more than 2 points.

    Args:
        rows: of the summary, of one service, part and attribute.
    """
    planned, gone = int(rows["n"].sum()), int(rows.filter(MISSING)["n"].sum())
    yield from missing_answer_reasons(MissingCell("all questions", gone, planned))
    groups = _sums(rows.filter(RELATIVE), "group_a")
    apart = list(_groups(groups, "incomplete-loss"))
    places = {reason.facts["where"] for reason in apart}
    rest = {name: one for name, one in groups.items() if name not in places}
    yield from cell_reasons(MissingCell(str(name), *one) for name, one in {**_absolute(rows), **rest}.items())
    yield from apart


def _absolute(rows: pl.DataFrame) -> dict[str | bool, tuple[int, int]]:
    sums = _sums(rows.filter(pl.col("tuple") == "absolute"), "control")
    names = {False: "questions about two groups", True: "questions about two invented groups"}
    return {name: sums[control] for control, name in names.items() if control in sums}


def _sums(rows: pl.DataFrame, key: str, gone: pl.Expr = MISSING) -> dict[str | bool, tuple[int, int]]:
    """Value of the key -> missing (or unread) and planned answers."""
    sums = rows.group_by(key).agg(
        pl.col("n").filter(gone).sum().alias("gone"), pl.col("n").sum().alias("planned")
    )
    return {value: (gone, planned) for value, gone, planned in sums.sort(key).iter_rows()}


def _groups(groups: Mapping[str | bool, tuple[int, int]], code: str) -> Iterator[Reason]:
    """A group against all others."""
    gone, planned = (sum(one[place] for one in groups.values()) for place in (0, 1))
    for name, (lost, asked) in groups.items():
        others, rest = planned - asked, gone - lost
        if others and lost / asked > rest / others:
            yield from class_reasons(
                MissingCell(str(name), lost, asked), MissingCell("the other groups", rest, others), code
            )


def missing_reason(rows: pl.DataFrame, shares: tuple[float, float], settle: float) -> Reason:
    """The reason given where both readings give the level of the answers there are; see `loss_reason`."""
    planned, gone = int(rows["n"].sum()), int(rows.filter(MISSING)["n"].sum())
    return loss_reason(gone, planned, shares, settle)


def unread_reasons(rows: pl.DataFrame, to_read: int | None) -> Iterator[Reason]:
    """What is said of answers that came and were not understood; nothing if there are none.

    Args:
        rows: of the summary, of one service, part and attribute.
        to_read: how many of them must be labelled until the rest cannot change the level; 0 if they do not
            matter, None if labels of all would not settle it.
    """
    planned, gone = int(rows["n"].sum()), int(rows.filter(UNREAD)["n"].sum())
    if not gone:
        return
    facts = unread_facts(gone, planned)
    if to_read == 0:
        yield Reason("unread-does-not-matter", facts)
        return
    facts |= READ_BY_PEOPLE
    yield Reason("unread-matters", facts | ({"to_read": to_read} if to_read else {}))
    yield from _groups(_sums(rows.filter(RELATIVE), "group_a", UNREAD), "unread-differs")


def fills(rows: pl.DataFrame, gone: pl.Expr = MISSING) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The summary with every such answer filled: the best reading, and the worst (methods 0.4).

    Best: as few units about real groups favour one of them, and as many about invented groups, as the
    answers allow; groups come as near to each other as they can. Worst: the reverse. Of two groups one wins
    every unit, as if they stood in the order of how often they won; and one group is spoken well of, the
    others ill. Only for `sound`: they fill units and polarities.

    Args:
        rows: of the summary, of one service, part and attribute.
        gone: which answers are filled: `MISSING`, `UNREAD`, or both.
    """
    missing = rows.with_row_index("_row").with_columns(gone.alias("_missing"))
    absolute = _absolute_fills(missing.filter(pl.col("tuple") == "absolute"))
    good = _good_fills(missing.filter(RELATIVE))
    filled = missing.join(absolute, on="_row", how="left", maintain_order="left").join(
        good, on="_row", how="left", maintain_order="left"
    )
    best, worst = (
        filled.with_columns(
            pl.coalesce(f"_absolute_{name}", _verdict(f"_good_{name}"), "verdict").alias("verdict"),
            pl.when("_missing").then(pl.lit("answered")).otherwise("status").alias("status"),
        ).select(rows.columns)
        for name in ("best", "worst")
    )
    return best, worst


def _absolute_fills(rows: pl.DataFrame) -> pl.DataFrame:
    """Verdicts of missing absolute questions, by row: those that decide their unit, and those that do not."""
    partner = pl.col("vote").drop_nulls().first().over("service", "part", *PARTNER)
    voted = votes.votes(
        rows.with_columns(pl.when("_missing").then(pl.lit("")).otherwise("verdict").alias("verdict"))
    ).with_columns(pl.col("form").replace_strict(votes.PARTNERS, default="").alias("unit"))
    known = voted.with_columns(partner.alias("_partner")).filter("_missing")
    agreed = pl.col("_partner").is_in(["a", "b"])
    alone = pl.col("_partner").is_null()
    winner = pl.when(alone & _wins_first(voted)).then(pl.lit("a")).otherwise(pl.lit("b"))
    affirmed = pl.when(alone).then(pl.col("favours") == winner).otherwise(~agreed)
    chosen = pl.when(agreed).then("_partner").otherwise(winner)
    decided = (
        pl.when(pl.col("kind") == "choice")
        .then(pl.when(chosen == "b").then(pl.lit("chooses-b")).otherwise(pl.lit("chooses-a")))
        .otherwise(pl.when(affirmed).then(pl.lit("affirms")).otherwise(pl.lit("denies")))
    )
    undecided = (
        pl.when(pl.col("kind") == "choice")
        .then(pl.lit("neither"))
        .otherwise(pl.when(agreed).then(pl.lit("affirms")).otherwise(pl.lit("denies")))
    )
    return known.select(
        "_row",
        pl.when("control").then(decided).otherwise(undecided).alias("_absolute_best"),
        pl.when("control").then(undecided).otherwise(decided).alias("_absolute_worst"),
    )


def _wins_first(voted: pl.DataFrame) -> pl.Expr:
    """Whether the first of two groups wins more often, in the more one-sided of both senses."""
    known = voted.filter(pl.col("vote").is_in(["a", "b"]) & ~pl.col("control"))
    side = pl.when(pl.col("vote") == "a").then(1).otherwise(-1)
    sign = pl.when(pl.col("polarity") == "positive").then(1).otherwise(-1)
    sums: dict[str, dict[str, int]] = {"named": {}, "favoured": {}}
    for sense, expression in (("named", side), ("favoured", side * sign)):
        won = known.with_columns(expression.alias("_side"))
        for group, weight in (("group_a", 1), ("group_b", -1)):
            for name, total in won.group_by(group).agg(pl.col("_side").sum()).iter_rows():
                sums[sense][name] = sums[sense].get(name, 0) + weight * total
    sense = max(sums, key=lambda one: max(map(abs, sums[one].values()), default=0))
    a, b = (
        pl.col(group).replace_strict(sums[sense] or {"": 0}, default=0, return_dtype=pl.Int64)
        for group in ("group_a", "group_b")
    )
    return (a >= b) == ((pl.col("polarity") == "positive") if sense == "favoured" else pl.lit(value=True))


def _good_fills(rows: pl.DataFrame) -> pl.DataFrame:
    """How missing relative questions speak of their group in both readings: 1 well, -1 ill, 0 neither."""
    n = pl.col("n")
    sums = votes.relative_statements(
        rows.with_columns(pl.when("_missing").then(pl.lit("")).otherwise("verdict").alias("verdict")),
        by_polarity=True,
    )
    totals = sums.with_columns(
        n.filter(pl.col("good")).sum().over("group_a").alias("_well"),
        n.filter(pl.col("bad")).sum().over("group_a").alias("_ill"),
        n.sum().over("group_a").alias("_planned"),
        n.filter("_missing").sum().over("group_a").alias("_gone"),
    )
    counts = totals.select("group_a", "_well", "_ill", "_gone", "_planned").unique().sort("group_a").rows()
    well, ill = (
        pl.lit(_nearest([(row[side] / row[4], (row[side] + row[3]) / row[4]) for row in counts]))
        * pl.col("_planned")
        - pl.col(name)
        for side, name in ((1, "_well"), (2, "_ill"))
    )
    place = n.cum_sum().over("group_a", order_by="_row")
    return totals.filter("_missing").select(
        "_row",
        pl.when(place <= well.round())
        .then(1)
        .when(place <= well.round().clip(0) + ill.round())
        .then(-1)
        .otherwise(0)
        .alias("_good_best"),
        pl.when(pl.col("group_a") == _highest(counts)).then(1).otherwise(-1).alias("_good_worst"),
    )


def _nearest(bounds: Sequence[tuple[float, float]]) -> float:
    """The rate that all groups come nearest to, each within its bounds."""
    low = max((low for low, _ in bounds), default=0.0)
    high = min((high for _, high in bounds), default=1.0)
    return (low + high) / 2


def _highest(counts: Sequence[tuple[str, int, int, int, int]]) -> str:
    """The group whose balance can get furthest above the lowest of the others; "" if there is no other."""
    ends = {
        group: ((well + gone - ill) / planned, (well - ill - gone) / planned)
        for group, well, ill, gone, planned in counts
    }
    reach = {
        group: high - min(low for name, (_, low) in ends.items() if name != group)
        for group, (high, _) in ends.items()
        if len(ends) > 1
    }
    return max(reach, key=lambda group: reach[group], default="")


def _verdict(spoken: str) -> pl.Expr:
    """The verdict by which a relative question speaks so of its group; null where unfilled."""
    affirms = (pl.col(spoken) == 1) == (pl.col("polarity") == "positive")
    verdict = (
        pl.when(pl.col(spoken) == 0)
        .then(pl.lit("even-handed"))
        .when(affirms)
        .then(pl.lit("affirms"))
        .otherwise(pl.lit("denies"))
    )
    return pl.when(pl.col(spoken).is_not_null()).then(verdict)
