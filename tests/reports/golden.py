"""Pictures that must stay byte for byte the same. `python -m tests.reports.golden` prints or writes them.

Write them anew, after a change that is meant, with `python -m tests.reports.golden --write`;
then look at every one of them.
"""

from __future__ import annotations

import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

from tests.reports import causal_fixtures, fixtures, social_fixtures, trust_fixtures
from trustgauge.methods.causal import view as causal
from trustgauge.methods.causal import view_graph, view_order
from trustgauge.methods.social_bias import group_names, view_maps
from trustgauge.methods.trust import view_figures
from trustgauge.methods.two_step import view
from trustgauge.methods.two_step import view as two_step
from trustgauge.records import Rating
from trustgauge.reports import label, svg
from trustgauge.reports.document import document

FOLDER = Path(__file__).parent.parent / "golden"


def only(rating: Rating, **more: Any) -> Any:
    """The document of one rating in a run of its own."""
    member: Any = document(fixtures.run([rating], **more), [rating])["ratings"][0]
    return member


def risk(level: str = "H") -> Any:
    """A chatbot rated for users who put privacy first."""
    named = {"L": "Insurance", "M": "Ubuntu", "H": "HR"}[level]
    return trust_fixtures.only(trust_fixtures.rating(named, trust_fixtures.PAPER[named]))


def trust_pictures() -> dict[str, str]:
    """Labels, badge and figure of chatbots."""
    paper = trust_fixtures.PAPER
    assumed = trust_fixtures.only(trust_fixtures.rating("Ubuntu", paper["Ubuntu"], state="assumed"))
    unsettled = {**paper["HR"], "bias": (0.32, "not settled")}
    dashed = trust_fixtures.rating("HR", unsettled, "easy-to-talk-to", rule="sound", state="not settled")
    missing = {**paper["HR"], "bias": (None, "not tested")}
    return {
        "label-risk": label.label(risk()),
        "label-risk-assumed": label.label(assumed),
        "label-risk-not-settled": label.label(trust_fixtures.only(dashed)),
        "label-risk-open": label.label(
            trust_fixtures.only(trust_fixtures.rating("HR", missing, "safe-language"))
        ),
        "badge-risk": label.badge(risk("L")) or "",
        "badge-risk-assumed": label.badge(assumed) or "",
        "issue-scores": view_figures.scores(
            trust_fixtures.only(trust_fixtures.rating("HR", missing, "safe-language"))["parts"],
            "Issue scores",
        ),
    }


def causal_pictures() -> dict[str, str]:
    """Labels and figures of causal ratings."""
    facts = document(causal_fixtures.run([]), [])["run"]
    names = causal.services(facts)
    gru = only_causal(causal_fixtures.rating("gru"))
    relative = only_causal(causal_fixtures.published("gru"))
    return {
        "label-causal": label.label(gru),
        "label-relative": label.label(relative),
        "badge-causal": label.badge(gru) or "",
        "diagram": view_graph.diagram(causal_fixtures.BOTH, "Group 4"),
        "diagram-chat": view_graph.diagram(causal_fixtures.CHAT, "Conversations"),
        "order": view_order.chart(gru["parts"][1]["details"]["order"], names, "Raw scores"),
    }


def only_causal(rating: Rating) -> Any:
    """The document of one causal rating in a run of its own."""
    member: Any = document(causal_fixtures.run([rating]), [rating])["ratings"][0]
    return member


def social_pictures() -> dict[str, str]:
    """Labels and figures of social-bias ratings."""
    gender, culture = (
        only_social(social_fixtures.rating(attributes=(name,))) for name in ("gender", "culture")
    )
    drawn = {}
    for name, one in (("gender", gender), ("culture", culture)):
        (part,) = one["parts"]
        names, details = group_names.groups(part), part["details"]
        drawn[f"advantage-{name}"] = view_maps.advantage(
            details["absolute"]["advantage"][0], names, f"Advantage: {name}"
        )
        drawn[f"preference-{name}"] = view_maps.preference(details["relative"], names, f"Preference: {name}")
    return {
        **drawn,
        "label-social": label.label(gender),
        "label-social-hidden": label.label(culture),
        "label-measured": label.label(only_social(social_fixtures.measured())),
        "badge-social": label.badge(gender) or "",
    }


def only_social(rating: Rating) -> Any:
    """The document of one social-bias rating in a run of its own."""
    member: Any = document(social_fixtures.run([rating]), [rating])["ratings"][0]
    return member


def pictures() -> dict[str, str]:
    """All of them, by file name."""
    states = only(fixtures.all_states())
    unsettled = only(
        fixtures.rating("PhraseMill", [fixtures.part("hi", "coin", state="not settled", certainty=0.84)])
    )
    lost = only(fixtures.rating("TransitaMT", [fixtures.lost_part("pt", "Portuguese")]))
    later = date(2027, 3, 1)
    block = states["parts"][1]["counts"]["blocks"][0]
    drawn = {
        "label-rated": label.label(states, address="https://example.org/r/TG-2026-1122-7f3a"),
        "label-not-settled": label.label(unsettled),
        "label-incomplete": label.label(lost),
        "label-expired": label.label(states, today=later),
        "label-withdrawn": label.label(states | {"withdrawn": {"date": "2026-12-01", "reason": "replaced"}}),
        "badge-rated": label.badge(states) or "",
        "badge-not-settled": label.badge(unsettled) or "",
        "badge-expired": label.badge(states, today=later) or "",
        "flow": view.flow(states),
        "intervals": svg.intervals(states, two_step.ruler(states)),
        "bars": svg.bars(block["in"], block["out"], fixtures.VALUES),
        "strip": svg.strip(states, states["parts"][4]["certainty"]),
        "scatter": svg.scatter(states, svg.dots([states])),
        **causal_pictures(),
        **social_pictures(),
        **trust_pictures(),
    }
    return {f"{name}.svg": text for name, text in drawn.items()}


if __name__ == "__main__":
    if "--write" in sys.argv:
        FOLDER.mkdir(exist_ok=True)
        for file, text in pictures().items():
            (FOLDER / file).write_text(text, "utf-8")
    else:
        print(json.dumps(pictures()))
