"""What a comparison says of a rating is what its report says, though the tables behind it are left out."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any, cast

import pytest

from tests.reports import causal_fixtures, fixtures, social_fixtures, trust_fixtures
from trustgauge.reports import sentences
from trustgauge.reports.comparison_page import rating_summaries
from trustgauge.reports.document import document
from trustgauge.reports.sentences import next_step
from trustgauge.run.stored_ratings import HERE, RowBuilder, StoredRating, StoredRun, slim

OPEN_ABUSE: Any = {
    "leakage": (0.0, "rated"), "abuse": (0.0, "not settled"),
    "bias": (0.2, "rated"), "complexity": (0.2, "rated"),
}  # fmt: skip


def documents() -> dict[str, Any]:
    """One rating of each method, and a chatbot of which one issue is open."""
    causal, social = causal_fixtures.rating("female-biased"), social_fixtures.rating()
    run, ratings = fixtures.demo()
    bot = trust_fixtures.rating("bot", OPEN_ABUSE, rule="sound", state="not settled")
    return {
        "two-step": document(run, ratings),
        "causal": document(causal_fixtures.run([causal]), [causal]),
        "social-bias": document(social_fixtures.run([social]), [social]),
        "trust": trust_fixtures.document_of(bot),
    }


@pytest.mark.parametrize("method", ["two-step", "causal", "social-bias", "trust"])
def test_a_page_says_of_a_rating_what_its_report_says(method: str) -> None:
    made = json.loads(json.dumps(documents()[method]))
    run = StoredRun(Path("ratings", made["run"]["id"]), made)
    rows = [RowBuilder(HERE, date(2026, 12, 1)).row(StoredRating(run, one)) for one in made["ratings"]]
    said = [one["verdict"] for one in rating_summaries(rows)]
    assert said == [sentences.verdict(one) for one in made["ratings"]]
    for one, rating in zip(cast("list[Any]", rating_summaries(rows)), made["ratings"], strict=True):
        assert ("Note" in one["heads"]) == any(part["flags"] for part in rating["parts"])
        assert {len(row) for row in one["rows"]} == {len(one["heads"])}


def test_what_would_settle_a_chatbot_is_known_without_its_tables() -> None:
    (one,) = documents()["trust"]["ratings"]
    assert sentences.unsettled_state(slim(one)) == sentences.unsettled_state(one)
    assert next_step(slim(one)) == next_step(one)
