"""The design effect that an earlier run measured, for what a plan can find (methods 0.8)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trustgauge.catalogue import read, run_folders
from trustgauge.errors import TrustgaugeError

if TYPE_CHECKING:
    from trustgauge.run.options import AskPlan

RUNS = 50  # folders that are looked into, the newest first


def measured_design_effect(prepared: AskPlan, index: int, ratings: Path) -> tuple[float, str]:
    """The largest design effect over the services of an experiment in the newest run that has one.

    A run counts if it rated one of the services by the same method, rule and attribute; a pilot is such a
    run with fewer texts.

    Returns:
        The design effect, at least 1 and rounded up to a tenth, and the id of the run; (0, "") if none.
    """
    method = prepared.methods[index]
    services = {one.service for one in prepared.targets if one.experiment == index and one.control is None}
    for folder in list(run_folders(ratings))[:RUNS]:
        try:
            document = read(folder)
        except (TrustgaugeError, OSError):
            continue
        found = [
            float(one)
            for rating in document["ratings"]
            if rating["service"]["key"] in services
            and (rating["method"]["name"], rating["method"]["rule"]) == (method.name, method.rule)
            and rating["issue"]["attribute"] == method.issue
            for part in rating["parts"]
            for one in part["details"].get("deff") or ()
        ]
        if found:
            return max(1.0, -(-max(found) * 10 // 1) / 10), str(document["run"]["id"])
    return 0.0, ""
