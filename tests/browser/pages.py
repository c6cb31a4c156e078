"""The pages that are opened in the browser."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from tests.reports import fixtures, hostile
from trustgauge.reports.document import document
from trustgauge.reports.evidence import Limits
from trustgauge.reports.html import report


def states() -> str:
    one = fixtures.all_states()
    told = document(fixtures.run([one], stopped="limit reached: calls 8000"), [one], fail_on="BS")
    return report(told, fixtures.evidence(one, texts=27))


def demo() -> str:
    run, ratings = fixtures.demo()
    rows = pl.concat([fixtures.evidence(one) for one in ratings])
    return report(document(run, ratings), rows)


def packed() -> str:
    one = fixtures.all_states()
    return report(
        document(fixtures.run([one]), [one]), fixtures.evidence(one, texts=27), limits=Limits(inline=100)
    )


def attacked() -> str:
    return report(*hostile.case())


def attacked_and_packed() -> str:
    told, rows = hostile.case()
    return report(told, rows, limits=Limits(inline=5))


def offensive() -> str:
    one = fixtures.all_states()
    rows = fixtures.evidence(one).with_columns((pl.col("part") == "tr").alias("offensive"))
    return report(document(fixtures.run([one]), [one]), rows)


PAGES: dict[str, Callable[[], str]] = {
    "states": states,
    "demo": demo,
    "packed": packed,
    "attacked": attacked,
    "attacked-and-packed": attacked_and_packed,
    "offensive": offensive,
}
