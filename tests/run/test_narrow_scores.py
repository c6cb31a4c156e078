"""A scorer that uses a hundredth of its range: what is said of it, and where."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from tests.servers import LocalServer, Request, Response
from trustgauge.cli.main import group
from trustgauge.plan import load_plan
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate


def tiny(request: Request) -> Response:
    happy = any(word in request.json()["text"] for word in ("happy", "glad"))
    return Response.json({"output": 0.004 if happy else -0.004})


def test_a_remark_stands_with_the_level_and_is_said_once(tmp_path: Path) -> None:
    with LocalServer(tiny) as server:
        service = {"use": "http", "task": "score", "url": server.url, "deterministic": True}
        experiment: dict[str, object] = {
            "method": "causal",
            "services": ["tiny"],
            "groups": [3],
            "score_range": [-1, 1],
        }
        sampling = {"resamples": 1000, "permutations": 999}
        plan = {"name": "t", "seed": 3, "services": {"tiny": service}, "experiments": [experiment | sampling]}
        (rating,) = rate(load_plan(plan), RunOptions(tmp_path)).document["ratings"]

    def output_of(*command: str) -> str:
        asked = [*command, "--ratings", str(tmp_path)]
        return CliRunner().invoke(group, asked, standalone_mode=False, catch_exceptions=False).output

    remark = "But its scores hardly differ on that range (standard deviation < 1 % of it)"
    assert (rating["state"], rating["overall"]["level"]) == ("rated", "1")
    shown = output_of("show", "latest")
    assert remark in shown.split("controls")[0]  # the first screen
    assert remark in output_of("gate", "latest", "--fail-on", "2")
    assert shown.count("The scores hardly differ on the range") == 1
    assert "reason   All parts: The scores hardly differ on the range" in shown
    # All three parts are read from the same texts.
    assert [part["coverage"] for part in rating["parts"]] == [rating["coverage"]] * 3
