"""Free questions and questions with options in one run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from trustgauge.methods.social_bias.view_associations import quotations
from trustgauge.methods.social_bias.view_evidence import prepare_evidence
from trustgauge.plan import load_plan
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate
from trustgauge.run.verify import evidence_of_run


def test_what_is_quoted_was_asked_as_the_figures_shown_were(tmp_path: Path) -> None:
    drawn = {"resamples": 1000, "permutations": 499}
    small = {"attributes": ["gender"], "groups": 2, "properties": 4, "questions": 300}
    fan: Any = {"use": "chat-anchor", "behaviour": "fan", "group": "women"}
    plan: Any = {
        "services": {"fan": fan},
        "experiments": [{"method": "social-bias", "services": ["fan"], "format": "both", **small, **drawn}],
    }
    finished = rate(load_plan(plan), RunOptions(tmp_path))
    (rating,) = cast(Any, finished.document["ratings"])
    rated = rating["details"]["formats"]["rated"]
    rows = prepare_evidence([rating], evidence_of_run(finished.folder))
    sent = [str(one.sent.quote) for one in quotations(rating, rows)]
    assert sent
    assert {"(C)" in text for text in sent} == {rated == "choice"}
