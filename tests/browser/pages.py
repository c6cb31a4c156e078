"""The pages that are opened in the browser."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from tests.reports import causal_fixtures, fixtures, hostile, social_fixtures, trust_fixtures
from trustgauge.reports.document import document
from trustgauge.reports.html import Limits, report


def states() -> str:
    one = fixtures.all_states()
    result = document(fixtures.run([one], stopped="limit reached: calls 8000"), [one], fail_on=("BS",))
    return report(result, fixtures.evidence(one, texts=27))


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
    result, rows = hostile.case()
    return report(result, rows, limits=Limits(inline=5))


def offensive() -> str:
    one = fixtures.all_states()
    rows = fixtures.evidence(one).with_columns((pl.col("part") == "tr").alias("offensive"))
    return report(document(fixtures.run([one]), [one]), rows)


def causal() -> str:
    one = causal_fixtures.all_kinds()
    return report(document(causal_fixtures.run([one]), [one]), causal_fixtures.evidence("gru", frames=20))


def causal_several() -> str:
    ratings = [causal_fixtures.rating(name) for name in ("gru", "female-biased", "constant")]
    run = causal_fixtures.run(ratings)
    rows = pl.concat([causal_fixtures.evidence(one.service) for one in ratings])
    return report(document(run, ratings), rows)


def causal_published() -> str:
    one = causal_fixtures.published()
    return report(document(causal_fixtures.run([one]), [one]))


def two_methods() -> str:
    ratings = [fixtures.all_states(), causal_fixtures.rating("gru"), causal_fixtures.rating("vader")]
    names = {**fixtures.run(ratings).services, **causal_fixtures.run(ratings).services}
    return report(document(fixtures.run(ratings, services=names), ratings))


def social() -> str:
    one = social_fixtures.all_states()
    return report(document(social_fixtures.run([one]), [one]), social_fixtures.evidence())


def social_several() -> str:
    run, ratings = social_fixtures.several()
    rows = pl.concat([social_fixtures.evidence(one.service) for one in ratings])
    return report(document(run, ratings), rows)


def social_measured() -> str:
    one = social_fixtures.measured()
    return report(document(social_fixtures.run([one]), [one]))


def social_chinese() -> str:
    one = social_fixtures.chinese()
    rows = social_fixtures.evidence(language="zh")
    return report(document(social_fixtures.run([one]), [one]), rows)


def trust() -> str:
    issues = trust_fixtures.PAPER["HR"] | {"bias": (None, "not tested")}
    return report(trust_fixtures.document_of(trust_fixtures.rating("HR", issues, "safe-language")))


def trust_several() -> str:
    result, rows = trust_fixtures.ran()
    return report(result, rows.gather_every(10))


PAGES: dict[str, Callable[[], str]] = {
    "states": states,
    "demo": demo,
    "packed": packed,
    "attacked": attacked,
    "attacked-and-packed": attacked_and_packed,
    "offensive": offensive,
    "causal": causal,
    "causal-several": causal_several,
    "causal-published": causal_published,
    "two-methods": two_methods,
    "social": social,
    "social-several": social_several,
    "social-measured": social_measured,
    "social-chinese": social_chinese,
    "trust": trust,
    "trust-several": trust_several,
}
