"""The command line as a user or a script meets it: results, streams, exit codes and their last line."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import tomli_w
from click.testing import CliRunner

from tests.forks import ForkedCommand
from tests.run.plans import faithful, translator_plan
from tests.servers import LocalServer, Request, Response
from trustgauge.cli.main import group, main
from trustgauge.reports.document_model import document_schema

Serve = Callable[..., LocalServer]


def trustgauge(
    *arguments: str, folder: Path, said: bytes = b"", **environment: str
) -> subprocess.CompletedProcess[str]:
    """The command without a terminal, in this process, which has imported everything.

    Args:
        arguments: of the command.
        folder: to run it in.
        said: what stands on its stdin.
        environment: variables beside those of the tests.
    """
    raw, raw_err = io.BytesIO(), io.BytesIO()
    with (
        contextlib.chdir(folder),
        surroundings(environment),
        stdin(said),
        contextlib.redirect_stdout(io.TextIOWrapper(raw, "utf-8", write_through=True)) as out,
        contextlib.redirect_stderr(io.TextIOWrapper(raw_err, "utf-8", write_through=True)) as err,
        pytest.raises(SystemExit) as ended,
    ):
        main([*arguments])
    out.flush()  # this also keeps the streams, which close what they write to when they go
    err.flush()
    code = ended.value.code
    assert isinstance(code, int)
    return subprocess.CompletedProcess(arguments, code, raw.getvalue().decode(), raw_err.getvalue().decode())


def own_process(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own: for what a plan imports, and what a process does at its start or end.

    What the plans of tests run is confirmed, unless `TRUSTGAUGE_TRUST=""` is given.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TRUSTGAUGE")} | {"TRUSTGAUGE_TRUST": "1"}
    return subprocess.run(
        [sys.executable, "-m", "trustgauge", *arguments],
        cwd=folder,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )


@contextlib.contextmanager
def surroundings(more: Mapping[str, str]) -> Iterator[None]:
    """Variables of the environment, meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in more.items():
            patch.setenv(name, value)
        yield


@contextlib.contextmanager
def stdin(said: bytes) -> Iterator[None]:
    """What a command reads meanwhile; no terminal."""
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(said), "utf-8")
    try:
        yield
    finally:
        sys.stdin = before


def shown(*arguments: str, folder: Path) -> str:
    """What a command prints that ends well, run in this process: much faster than in one of its own."""
    with contextlib.chdir(folder):
        done = CliRunner().invoke(group, arguments, catch_exceptions=False, standalone_mode=False)
    return done.stdout


def last(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr.strip().splitlines()[-1]


DEMO = """\
service          rating  balanced in → out  certainty  unchanged
anchor/coin      UCS     200:200 → 199:201        97%        49%
anchor/identity  DSBS    200:200 → 200:200      > 99%       100%
anchor/all-he    BS      200:200 → 400:0        > 99%        50%
controls 5 of 5 got the expected rating
note     anchor/coin: UCS alone does not make a service useful: it changed half of the pronouns
note     anchor/coin: 42 questions were asked twice: 36 % got the same answer (95 % interval \
23 % to 51 %).
"""


def test_the_first_session(tmp_path: Path) -> None:
    began = trustgauge("init", "--demo", folder=tmp_path)
    assert began.stdout.splitlines()[1] == "next     trustgauge rate"
    done = trustgauge("rate", folder=tmp_path)
    assert done.returncode == 0
    assert done.stdout == DEMO
    result = done.stderr.splitlines()
    assert result[0] == "plan     3 services · two-step, gender · 3 blocks × 200 texts · rule sound"
    assert result[1].startswith("calls    1,926 (0 stored before)")
    assert re.fullmatch(r"report   ratings/TG-\d{4}-\d{4}-[0-9a-f]{4}/report\.html", result[-1])
    again = trustgauge("rate", folder=tmp_path)
    assert again.stdout == DEMO
    assert "0 (1,926 stored before)" in again.stderr
    checked = trustgauge("verify", folder=tmp_path)
    assert checked.returncode == 0
    assert checked.stdout.startswith("ok       4,800 answers, 4,800 readings, 6 levels re-derived; all equal")
    assert "\nopen     what report.html says: `trustgauge show TG-" in checked.stdout


def test_json_is_one_document_that_fits_its_schema(tmp_path: Path) -> None:
    trustgauge("init", "--demo", folder=tmp_path)
    done = trustgauge("rate", "--json", "--texts", "20", folder=tmp_path)
    document = json.loads(done.stdout)
    jsonschema.validate(document, document_schema())
    assert len(document["ratings"]) == 3
    shown = trustgauge("show", "--as", "json", folder=tmp_path)
    assert json.loads(shown.stdout) == document


def test_a_wrong_plan_exits_2_and_says_where(tmp_path: Path) -> None:
    (tmp_path / "typo.toml").write_text(
        '[services.a]\nuse = "anchor"\n\n'
        '[[experiments]]\nmethod = "two-step"\nservices = ["a"]\nattribute = "gendre"\n'
    )
    done = trustgauge("rate", "typo.toml", folder=tmp_path)
    assert done.returncode == 2
    assert 'experiments[0].attribute: no attribute "gendre"' in done.stderr
    assert 'Did you mean "gender"?' in done.stderr
    assert "line 7" in done.stderr
    assert last(done) == "exit 2: usage or plan error; nothing was sent"
    assert done.stdout == ""
    assert trustgauge("rate", "--nonsense", folder=tmp_path).returncode == 2
    assert trustgauge("rate", "nobody/here", folder=tmp_path).returncode == 2
    assert trustgauge("show", "TG-none", folder=tmp_path).returncode == 2


def test_a_table_that_is_none_and_a_folder_are_named_as_such(tmp_path: Path) -> None:
    experiment = '[[experiments]]\nmethod = "two-step"\nservices = ["both"]\n'
    talk = '[services.talk]\nuse = "dialogs"\ndialogs = "t.jsonl"\n'
    both = '[services.both]\nuse = "chain"\nservices = ["first"]\n'
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "trustgauge.toml").write_text(talk + both + experiment)
    done = trustgauge("rate", "inner/trustgauge.toml", folder=tmp_path)
    assert "services.talk.dialogs: wrong value. Must be a table: { SETTING = VALUE }" in done.stderr
    assert (
        'services.both.services[0]: wrong value. Must be the table of a service, such as { use = "'
        in done.stderr
    )
    done = trustgauge("rate", "inner", folder=tmp_path)
    assert "PLAN: inner is a folder. Must be a plan, or a service" in done.stderr
    assert "Name the plan in it: inner/trustgauge.toml" in done.stderr


def test_a_service_that_needs_no_settings_is_meant_by_its_name(tmp_path: Path) -> None:
    for plan in (None, '[services.mine]\nuse = "vader"\n'):
        if plan:
            (tmp_path / "trustgauge.toml").write_text(plan)
        result = trustgauge("rate", "vader", "--method", "causal", "--limit-calls", "1", folder=tmp_path)
        assert result.returncode == 2, result.stderr
        assert "the run would exceed a limit" in result.stderr
    refused = trustgauge("plan", "gru", "--method", "causal", folder=tmp_path)
    assert refused.returncode == 2
    assert ": a name alone, where a plan has to give `folder`" in refused.stderr


def test_a_missing_or_refused_key_exits_3(serve: Serve, tmp_path: Path) -> None:
    server = serve(lambda request: Response(401, b"{}"))
    plan = {"via": ["es"], "use": "round-trip", "translator": {"use": "deepl", "url": server.url}}
    document = {
        "services": {"x": plan},
        "experiments": [{"method": "two-step", "services": ["x"], "texts": 20, "draws": 1000}],
    }
    (tmp_path / "plan.toml").write_text(tomli_w.dumps(document))
    planned = trustgauge("plan", "plan.toml", folder=tmp_path, DEEPL_API_KEY="")
    assert (planned.returncode, "calls " in planned.stdout) == (0, True)
    assert "missing  DeepL needs a key in the environment variable DEEPL_API_KEY" in planned.stdout
    missing = trustgauge("rate", "plan.toml", folder=tmp_path, DEEPL_API_KEY="")
    assert missing.returncode == 3
    assert "DEEPL_API_KEY" in missing.stderr
    assert server.requests == []
    refused = trustgauge("rate", "plan.toml", folder=tmp_path, DEEPL_API_KEY="planted-key-123:fx")
    assert refused.returncode == 3
    assert last(refused).startswith("exit 3: ")
    assert "planted-key-123" not in refused.stdout + refused.stderr
    checked = trustgauge("check", "plan.toml", folder=tmp_path, DEEPL_API_KEY="planted-key-123:fx")
    assert checked.returncode == 3


def test_a_limit_needs_yes_without_a_terminal_and_then_exits_4(serve: Serve, tmp_path: Path) -> None:
    server = serve(faithful)
    (tmp_path / "plan.toml").write_text(tomli_w.dumps(translator_plan(server.url, texts=10)))
    asked = trustgauge("rate", "plan.toml", "--limit-calls", "20", folder=tmp_path)
    assert asked.returncode == 2
    assert "--yes" in asked.stderr
    assert server.requests == []
    stopped = trustgauge("rate", "plan.toml", "--limit-calls", "20", "--yes", folder=tmp_path)
    assert stopped.returncode == 4
    assert len(server.requests) <= 20
    assert "not rated" in stopped.stdout
    assert last(stopped).startswith("exit 4: incomplete: limit reached: calls 20")
    resumed = trustgauge("rate", "plan.toml", folder=tmp_path)
    assert resumed.returncode == 0
    assert len(server.requests) == 60


@pytest.mark.parametrize(
    ("behaviour", "more", "code"),
    [
        ("all", ("--fail-on", "BS"), 10),
        ("all", ("--fail-on", "DSBS"), 10),
        ("identity", ("--fail-on", "BS"), 0),
        ("identity", ("--fail-on", "DSBS"), 10),
        ("coin", ("--fail-on", "BS", "--texts", "20"), 5),
        ("identity", ("--need-certainty", "0.9"), 0),
    ],
)
def test_gates(tmp_path: Path, behaviour: str, more: tuple[str, ...], code: int) -> None:
    plan = {
        "services": {"one": {"use": "anchor", "behaviour": behaviour}},
        "experiments": [{"method": "two-step", "services": ["one"], "texts": 100}],
    }
    (tmp_path / "plan.toml").write_text(tomli_w.dumps(plan))
    done = trustgauge("rate", "plan.toml", "--quiet", *more, folder=tmp_path)
    assert done.returncode == code, done.stderr
    if code:
        assert last(done).startswith(f"exit {code}: ")
    assert len(done.stdout.splitlines()) == 1


def test_a_gate_on_a_level_that_no_method_has_is_a_usage_error(tmp_path: Path) -> None:
    trustgauge("init", "--demo", folder=tmp_path)
    done = trustgauge("rate", "--fail-on", "BSS", folder=tmp_path)
    assert done.returncode == 2
    assert 'Did you mean "BS"?' in done.stderr


def test_a_tampered_run_exits_10(tmp_path: Path) -> None:
    trustgauge("init", "--demo", folder=tmp_path)
    trustgauge("rate", "--texts", "20", folder=tmp_path)
    (path,) = tmp_path.glob("ratings/*/rating.json")
    path.write_text(path.read_text("utf-8").replace('"level":"DSBS"', '"level":"UCS"'), "utf-8")
    done = trustgauge("verify", folder=tmp_path)
    assert done.returncode == 10
    assert "claimed UCS, derived DSBS" in done.stdout
    assert "contradicts itself" in trustgauge("list", "ratings", folder=tmp_path).stdout
    path.write_text("{", "utf-8")
    assert trustgauge("verify", folder=tmp_path).returncode == 2


def test_every_view_of_a_rating(tmp_path: Path) -> None:
    trustgauge("init", "--demo", folder=tmp_path)
    trustgauge("rate", "--texts", "20", folder=tmp_path)
    listed = json.loads(trustgauge("list", "ratings", "--json", folder=tmp_path).stdout)
    assert [row["level"] for row in listed][1:] == ["DSBS", "BS"]
    one = listed[1]["id"]
    forms = [row["name"] for row in json.loads(shown("list", "exports", "--json", folder=tmp_path))]
    assert {"text", "html", "label", "badge", "json", "csv", "evidence-csv", "parquet", "markdown"} <= set(
        forms
    )
    for form in forms:
        target = tmp_path / f"view.{form}"
        shown("show", one, "--as", form, "-o", str(target), folder=tmp_path)
        assert target.stat().st_size > 100
    assert trustgauge("show", one, "--as", "pie", folder=tmp_path).returncode == 2


@pytest.mark.parametrize(
    "what", ["services", "methods", "attributes", "groups", "anchors", "languages", "exports", "schemas"]
)
def test_lists(tmp_path: Path, what: str) -> None:
    assert len(shown("list", what, folder=tmp_path).splitlines()) > 1
    assert json.loads(shown("list", what, "--json", folder=tmp_path))


def test_interrupting_keeps_everything_and_the_same_command_resumes(serve: Serve, tmp_path: Path) -> None:
    import signal
    import time

    server = serve(faithful, 0.02)
    (tmp_path / "plan.toml").write_text(
        tomli_w.dumps(translator_plan(server.url, texts=50, service={"concurrency": 2}))
    )
    process = ForkedCommand(["rate", "plan.toml"], tmp_path, os.environ)
    while len(server.requests) < 60:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, result = process.communicate(timeout=60)
    assert process.returncode == 130
    assert result.strip().splitlines()[-1].startswith("exit 130: interrupted; all received answers are saved")
    before = len(server.requests)
    assert trustgauge("rate", "plan.toml", folder=tmp_path).returncode == 0
    assert len(server.requests) - before <= 300 - before + 4


def test_one_service_on_the_command_line(serve: Serve, tmp_path: Path) -> None:
    done = trustgauge("rate", "anchor/all-she", "--texts", "50", "--quiet", folder=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("[BS] anchor/all-she")


def test_compose_infers_says_what_to_test_and_tests_it(serve: Serve, tmp_path: Path) -> None:
    server = serve(faithful)
    (tmp_path / "plan.toml").write_text(
        tomli_w.dumps(translator_plan(server.url, texts=200, via=("es", "tr")))
    )
    assert trustgauge("rate", "plan.toml", folder=tmp_path).returncode == 0
    inferred = trustgauge("compose", "mine:es > mine:tr", "--json", folder=tmp_path)
    assert inferred.returncode == 0, inferred.stderr
    facts = json.loads(inferred.stdout)
    assert (facts["levels"], facts["state"], facts["way"]) == (["BS"], "inferred", "rates")
    calls = len(server.requests)
    tested = trustgauge("compose", "mine:es > mine:tr", "--test", folder=tmp_path)
    assert tested.returncode == 0, tested.stderr
    assert "inferred BS, measured BS (rated): agrees" in tested.stdout
    assert len(server.requests) > calls
    kept = trustgauge("compose", "mine:es > mine:tr", folder=tmp_path).stdout
    assert re.search(r"^measured +BS \(rated\)  · TG-", kept, re.M), kept
    assert "contradict" not in kept
    whole = trustgauge("compose", "mine > mine:tr", folder=tmp_path)
    assert "(" in whole.stdout.splitlines()[0]
    assert any(line.startswith("test ") for line in whole.stdout.splitlines())
    wrong = trustgauge("compose", "mine:es > mine:fr", folder=tmp_path)
    assert wrong.returncode == 2


def test_help_shows_an_example_for_every_verb(tmp_path: Path) -> None:
    shown = trustgauge("--help", folder=tmp_path).stdout
    for verb in ("init", "check", "plan", "rate", "show", "compose", "verify", "list"):
        assert f"  {verb} " in shown
        assert f"trustgauge {verb}" in trustgauge(verb, "--help", folder=tmp_path).stdout


def test_check_asks_a_service_of_two_experiments_once(serve: Serve, tmp_path: Path) -> None:
    server = serve(lambda request: Response(404))
    scorer = {"use": "http", "url": server.url, "task": "score"}
    experiments = [{"method": "causal"}, {"method": "two-step", "attribute": "valence"}]
    document = {
        "services": {"mine": scorer, "other": {**scorer, "url": server.url + "/b"}},
        "experiments": [{**one, "services": ["mine", "other"]} for one in experiments],
    }
    (tmp_path / "plan.toml").write_text(tomli_w.dumps(document))
    done = trustgauge("check", "plan.toml", folder=tmp_path)
    assert [line for line in done.stdout.splitlines() if not line.startswith(" ")] == ["mine", "other"]
    assert last(done).startswith("exit 3: mine, other did not answer")
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "price",
    [{"usd_per_call": 0.01}, {"usd_per_million_output_tokens": 2.0}, {"usd_per_million_characters": 1}],
)
def test_a_limit_of_no_money_asks_no_paid_service(
    serve: Serve, tmp_path: Path, price: dict[str, float]
) -> None:
    server = serve(lambda request: Response.json({"choices": [{"message": {"content": "She."}}]}))
    mine = {"use": "openai", "model": "m-1", "url": server.url}
    paid: dict[str, Any] = {
        "services": {"mine": mine | price},
        "experiments": [{"method": "two-step", "services": ["mine"], "texts": 20, "draws": 1000}],
    }
    (tmp_path / "plan.toml").write_text(tomli_w.dumps(paid))
    none = ("plan.toml", "--limit-usd", "0")
    planned = trustgauge("plan", *none, folder=tmp_path)
    assert "limit $0\n" in planned.stdout
    for verb in (("rate", *none, "--yes"), ("check", *none)):
        done = trustgauge(*verb, folder=tmp_path)
        assert done.returncode == 2
        assert "services.mine: asking it may cost money, and nothing may be spent. Must be" in done.stderr
        assert "--limit-usd" in done.stderr
    assert server.requests == []
    paid["services"]["mine"] = mine
    (tmp_path / "plan.toml").write_text(tomli_w.dumps(paid))
    assert trustgauge("check", *none, folder=tmp_path).returncode == 0
    assert len(server.requests) == 1


def test_all_that_services_lack_is_told_at_once(serve: Serve, tmp_path: Path) -> None:
    server = serve(faithful)
    request = {"q": "{text}", "to": "{target}"}
    lost = {"use": "http", "url": server.url, "task": "chat", "request": request}
    services = {"a": {"use": "deepl", "target": "de"}, "b": lost, "c": lost}
    services |= {"d": {"use": "google", "target": "de"}, "e": {"use": "deepl", "target": "fr"}}

    def listed_names(*names: str) -> subprocess.CompletedProcess[str]:
        experiment = {"method": "two-step", "services": list(names)}
        document = {"services": services, "experiments": [experiment]}
        (tmp_path / "plan.toml").write_text(tomli_w.dumps(document))
        return trustgauge("check", "plan.toml", folder=tmp_path, DEEPL_API_KEY="", GOOGLE_API_KEY="")

    both = listed_names("a", "b", "c", "d", "e")
    places = re.findall(r"^error +(\S+): ", both.stderr, re.MULTILINE)
    assert (both.returncode, places) == (
        2,
        ["services.a", "services.b.target", "services.c.target", "services.d"],
    )
    keys = listed_names("a", "d", "e")
    assert keys.returncode == 3
    assert re.findall(r"variable (\w+),", keys.stderr) == ["DEEPL_API_KEY", "GOOGLE_API_KEY"]
    assert "Set DEEPL_API_KEY" in keys.stderr
    assert "Set GOOGLE_API_KEY" in keys.stderr
    assert server.requests == []


def test_check_makes_one_call_a_leg_and_shows_it(serve: Serve, tmp_path: Path) -> None:
    def hostile(request: Request) -> Response:
        return Response.json({"translatedText": "\x1b[31m" + request.json()["q"]})

    server = serve(hostile)
    (tmp_path / "plan.toml").write_text(tomli_w.dumps(translator_plan(server.url)))
    done = trustgauge("check", "plan.toml", folder=tmp_path)
    assert done.returncode == 0
    assert len(server.requests) == 2
    assert "\x1b" not in done.stdout
    assert not (tmp_path / "ratings").exists()
