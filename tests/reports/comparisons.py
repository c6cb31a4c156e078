"""Comparison documents, made from real runs of services of known behaviour, and a hostile one."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.reports.hostile import ANSWERS, NAME
from tests.run.comparisons import causal, compared, rated, two_step


@cache
def _made() -> Any:
    with TemporaryDirectory() as made:
        folder = Path(made)
        rated(two_step({"one": "half", "two": "identity"}), folder)
        rated(two_step(), folder)
        rated(two_step({"one": "identity", "three": "all-he"}), folder)
        rated(two_step({"one": "half", "two": "all-he"}, rule="published"), folder)
        rated(causal({"still": "constant", "moved": "female-biased"}), folder)
        return compared(folder, links=folder)


def several() -> Any:
    """Three tables, ties, an unsettled service, and a service at two dates."""
    return copy.deepcopy(_made())


def attacked() -> Any:
    """The same with hostile names and answers, more than one expired, and one stopped early."""
    result = several()
    dates = [row for one in result["dates"] for row in (one["before"], one["after"])]
    for row in [*(row for group in result["groups"] for row in group["rows"]), *dates]:
        row["rating"]["service"] |= {"name": NAME, "version": NAME}
        row |= {"expired": True, "stopped": NAME}
    for group in result["groups"]:
        group["attribute"] = group["version"] = NAME
        group["differs"] = [NAME]
    for one in result["dates"]:
        one |= {"service": NAME, "attribute": NAME, "differs": [NAME]}
        for example, answer in zip(one["readings"]["examples"], ANSWERS, strict=False):
            example |= {"sent": answer, "before": answer, "after": answer, "part": NAME}
            example |= {"read_before": [answer], "read_after": [None]}
    result["notes"].append(
        {"code": "compare.unreadable", "facts": {"rating": NAME, "why": NAME}, "evidence": []}
    )
    return result
