"""Options and environment variables go to the experiments that have the setting, and say so if none has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomli_w

from trustgauge.cli.main import main

TWO_STEP = {"method": "two-step", "services": ["mirror"], "texts": 30, "draws": 1000}
BIAS = {"method": "social-bias", "services": ["bot"], "attributes": ["gender"], "groups": 2, "properties": 1}
SERVICES = {
    "mirror": {"use": "anchor", "behaviour": "identity"},
    "bot": {"use": "chat-anchor", "behaviour": "refuser"},
}


@pytest.fixture(autouse=True)
def _clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("TEXTS", "RULE", "SEED", "FAIL_ON", "NEED_CERTAINTY"):
        monkeypatch.delenv(f"TRUSTGAUGE_{name}", raising=False)


def ended(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(caught.value.code or 0)


def written(*experiments: dict[str, Any]) -> str:
    services = {name: SERVICES[name] for one in experiments for name in one["services"]}
    Path("plan.toml").write_text(tomli_w.dumps({"services": services, "experiments": list(experiments)}))
    return "plan.toml"


def test_an_environment_variable_that_fits_no_experiment_is_noted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRUSTGAUGE_TEXTS", "30")
    assert ended("check", written(BIAS)) == 0
    assert "note     TRUSTGAUGE_TEXTS does nothing here: social-bias has no texts" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (("--texts", "30"), '--texts: no experiment of the plan has the setting "texts"'),
        (("--attribute", "age"), "`attributes` is a setting of the plan"),
    ],
)
def test_an_option_that_fits_no_experiment_is_refused(
    option: tuple[str, str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended("check", written(BIAS), *option) == 2
    assert told in capsys.readouterr().err


def test_an_option_goes_to_the_experiments_that_have_the_setting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRUSTGAUGE_RULE", "published")
    assert ended("plan", written(TWO_STEP, BIAS), "--texts", "25", "--attribute", "worship") == 0
    said = capsys.readouterr()
    slow = "working  Simulating what this plan can find: two-step\n"  # after some seconds
    assert "two-step, worship" in said.out
    assert "5 blocks × 25 texts · rule published" in said.out
    assert "social-bias, gender" in said.out
    assert said.err in ("", slow)


@pytest.mark.parametrize(
    "option", [("--scheduler", "tcp://10.0.0.1:8786"), ("--workers", "2"), ("--shared", "there")]
)
def test_an_option_of_workers_is_refused_where_the_engine_has_none(
    option: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    plan = written(TWO_STEP)
    assert ended("rate", plan, *option) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"{option[0]}: the local engine makes no use of it" in said
    assert "Must be given with an engine that has worker processes. Got engine local" in said
    assert "Add --engine dask, or leave the option out" in said
    assert not Path("ratings").exists()


def test_a_variable_of_workers_is_noted_where_the_engine_has_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRUSTGAUGE_SCHEDULER", "tcp://10.0.0.1:8786")
    assert ended("rate", written(TWO_STEP), "--progress", "none") == 0
    assert "note     TRUSTGAUGE_SCHEDULER does nothing here: the engine is local" in capsys.readouterr().err


def test_without_a_verb_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended() == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("Usage: trustgauge [OPTIONS] COMMAND")
    assert said.err.endswith("exit 2: usage or plan error; nothing was sent\n")


def test_what_to_rate_is_for_services_and_not_for_plans(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended("check", written(BIAS), "--method", "trust") == 2
    assert "--method goes with a service; plan.toml says itself what it rates" in capsys.readouterr().err


@pytest.mark.parametrize("shape", ["budget = 5", "run = 'parquet'", "experiments = ['x']", "experiments = 5"])
def test_a_plan_of_a_wrong_shape_is_a_plan_error_beside_an_option(
    shape: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rest = "" if "experiments" in shape else "[[experiments]]\nmethod = 'two-step'\nservices = ['a']\n"
    Path("plan.toml").write_text(f"{shape}\n[services.a]\nuse = 'anchor'\nbehaviour = 'coin'\n{rest}")
    options = ("--limit-calls", "5", "--store", "parquet", "--texts", "20", "--rule", "sound")
    assert ended("rate", "plan.toml", *options) == 2
    said = capsys.readouterr().err
    place = shape.partition(" ")[0]
    assert f"error    {place}" in said
    assert "Must be" in said
    assert "line 1\n" in said


@pytest.mark.parametrize(
    ("service", "told"),
    [
        ("deepl/en-xx!!", 'error    SERVICE.target: no language "xx!!": must be a code of ISO 639-1'),
        (
            "apertium/e",
            'error    SERVICE: no service "apertium/e": "e" is no direction; must be SOURCE-TARGET',
        ),
    ],
)
def test_a_service_that_cannot_be_named_is_told_in_one_line(
    service: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended("check", service) == 2
    said = capsys.readouterr().err
    assert said.startswith(told)
    assert "pydantic" not in said
    assert len(said.splitlines()) == 2


def test_a_plan_after_a_pilot_is_told_at_the_design_effect_measured_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pilot = written({**TWO_STEP, "texts": 20})
    assert ended("plan", pilot) == 0
    assert "by design effect: " in capsys.readouterr().out
    assert ended("rate", pilot) == 0
    capsys.readouterr()
    assert ended("plan", written(TWO_STEP)) == 0
    assert "at the design effect of 1 that TG-" in capsys.readouterr().out


def test_a_long_run_is_told_what_it_finds_at_the_design_effect_of_1_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The others are for `plan`: a run begins sooner without them."""
    server = {"use": "http", "url": "http://127.0.0.1:9/", "request": {"q": "{text}"}, "response": "said"}
    slow = {"use": "round-trip", "via": ["es"], "translator": {**server, "rate": 1.0}}
    plan = {"services": {"slow": slow}, "budget": {"calls": 10}}
    experiment = {**TWO_STEP, "services": ["slow"]}
    Path("plan.toml").write_text(tomli_w.dumps({**plan, "experiments": [experiment]}))
    assert ended("rate", "plan.toml") == 2  # it would send more than is allowed
    (result,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("finds"))
    assert ended("plan", "plan.toml") == 0
    (whole,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("finds"))
    assert result.endswith("8 times in 10")
    assert whole.startswith(f"{result}; by design effect: ")


@pytest.mark.parametrize(
    ("method", "request_", "noted"),
    [
        ("trust", {"q": "{text}"}, True),
        ("trust", {"q": "{text}", "id": "{session}"}, False),
        ("trust", {"q": "{text}", "before": "{turns}"}, False),
        ("social-bias", {"q": "{text}"}, False),
    ],
)
def test_a_bot_that_is_not_told_which_turns_belong_together_is_noted(
    method: str, request_: dict[str, str], noted: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    few: Any = {"trust": {"issues": ["abuse"], "talks": 2}, "social-bias": {"groups": 2, "questions": 20}}
    bot = {"use": "http", "url": "http://127.0.0.1:9/", "task": "chat", "request": request_}
    experiment = {"method": method, "services": ["bot"], **few[method]}
    Path("plan.toml").write_text(tomli_w.dumps({"services": {"bot": bot}, "experiments": [experiment]}))
    assert ended("plan", "plan.toml") == 0
    assert (
        "note     bot: each turn of a conversation is asked by itself" in capsys.readouterr().out
    ) == noted
