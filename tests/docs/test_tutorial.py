"""What the tutorial shows of `check` is what the command prints."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.servers import LocalServer, Request, Response
from trustgauge.cli.main import group

TUTORIAL = (Path(__file__).parents[2] / "docs/tutorial.md").read_text("utf-8")


def block(command: str) -> tuple[str, str]:
    """The plan above a command of the tutorial, and what the tutorial says that it prints first."""
    before, _, after = TUTORIAL.partition(f"```text\n$ {command}\n")
    assert after, f"the tutorial has no block of {command}"
    plans = re.findall(r"```toml\n(.*?)```", before, re.S)
    return plans[-1] if plans else "", re.split(r"^(?:\$ |```)", after, maxsplit=1, flags=re.M)[0]


def printed(*arguments: str) -> str:
    done = CliRunner().invoke(group, list(arguments), standalone_mode=False, catch_exceptions=False)
    return done.output


def timeless(text: str) -> str:
    return re.sub(r" {3}\d+ ms$", "   0 ms", text, flags=re.M)


def server_of_the_tutorial(request: Request) -> Response:
    return Response.json({"data": [{"text": re.sub(r"\bher (?=\w)", "their ", request.json()["text"])}]})


@pytest.mark.parametrize("command", ["trustgauge check http.toml", "trustgauge check sentiment.toml"])
def test_a_check_prints_what_the_tutorial_shows(
    command: str, serve: Callable[..., LocalServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan, shown = block(command)
    file = command.split()[-1]
    Path(file).write_text(plan.replace("http://127.0.0.1:8123", serve(server_of_the_tutorial).url), "utf-8")
    assert timeless(printed("check", file, "--trust")) == timeless(shown)


def test_a_check_of_translators_sends_what_the_tutorial_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if "Apertium through ca, eo, es, gl" not in printed("init", "--force"):
        pytest.skip("the pairs of languages of the tutorial are not installed")
    _, shown = block("trustgauge check")

    def ways(text: str) -> list[tuple[str, str, int]]:
        lines = text.splitlines()
        return [
            (part, way.split("  →  ")[0], way.count("→"))
            for part, way in zip(lines[::2], lines[1::2], strict=True)
        ]

    assert ways(printed("check", "--trust")) == ways(shown)  # what comes back depends on the dictionaries
