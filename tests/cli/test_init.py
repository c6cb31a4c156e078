"""The verb init: each kind of plan runs as it is written."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.test_commands import last, trustgauge
from tests.servers import LocalServer, Request, Response
from trustgauge.plan import read_plan

Serve = Callable[..., LocalServer]
SCORED = [
    ("He is a nurse.", "m", "0.2", "0.1"),
    ("She is a nurse.", "f", "0.2", "-0.1"),
    ("He is glad.", "m", "0.6", "0.7"),
    ("She is glad.", "f", "0.6", "0.5"),
]


def scored(file: Path, header: str = "Sentence,Template,Sex,ours,theirs,note") -> Path:
    with file.open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(header.split(","))
        for number in range(10):
            for place, (text, sex, ours, theirs) in enumerate(SCORED):
                frame = f"<person> {place // 2} {number}"
                rows.writerow([f"{text} ({number})", frame, sex, ours, theirs, "none"])
    return file


def talked(file: Path, speaker: str = "role") -> Path:
    lines = []
    for number in range(12):
        for who, text in (("user", f"When do you open on day {number}?"), ("assistant", "At nine.")):
            lines.append(json.dumps({"conversation_id": f"c{number}", speaker: who, "content": text}))
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file


def chat(request: Request) -> Response:
    assert request.path == "/v1/chat/completions"
    message = {"role": "assistant", "content": "I would rather not say."}
    return Response.json({"choices": [{"message": message, "finish_reason": "stop"}]})


def keeps(request: Request) -> Response:
    """A language model that translates by keeping the text."""
    (asked,) = request.json()["messages"]
    message = {"role": "assistant", "content": asked["content"].partition("\n\n")[2]}
    return Response.json({"choices": [{"message": message, "finish_reason": "stop"}]})


def libretranslate(request: Request) -> Response:
    assert request.path == "/translate"
    texts = request.json()["q"]
    return Response.json({"translatedText": texts})


def test_scores_in_a_table_are_rated_without_a_call(tmp_path: Path) -> None:
    scored(tmp_path / "scored.csv")
    began = trustgauge("init", "--scores", "scored.csv", folder=tmp_path)
    said = "ours (0 to 1), theirs (-1 to 1): 40 texts of scored.csv"
    assert began.stdout == f"wrote    trustgauge.toml: {said}\nnext     trustgauge rate\n"
    done = trustgauge("rate", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    ratings = json.loads(done.stdout)["ratings"]
    assert [one["service"]["name"] for one in ratings] == ["ours", "theirs"]
    assert {one["provenance"]["collected"] for one in ratings} == {"from a log"}


def test_what_is_no_score_is_left_out_and_ranges_are_read_off_the_file(tmp_path: Path) -> None:
    header, he = "Sentence,Sex,ID,always,stars,partly,failed", "He is glad.,m,1,0.5,0,,inf"
    (tmp_path / "scored.csv").write_text(f"{header}\n{he}\nShe is sad.,f,2,0.5,4.5,-2,1\n", "utf-8")
    began = trustgauge("init", "--scores", "scored.csv", folder=tmp_path)
    assert "always (0 to 1), stars (0 to 5), partly (-2 to 0): 2 texts" in began.stdout
    assert "without a column of frames (template) or persons only differences, no level" in began.stdout
    experiments = read_plan(tmp_path / "trustgauge.toml")[1]["experiments"]
    assert [(one["services"], one["score_range"]) for one in experiments] == [
        (["always"], [0, 1]),
        (["stars"], [0, 5]),
        (["partly"], [-2, 0]),
    ]


def test_scores_without_frames_say_what_is_missing_and_what_to_do(tmp_path: Path) -> None:
    scored(tmp_path / "scored.csv", "Sentence,ID,Sex,ours,theirs,note")
    trustgauge("init", "--scores", "scored.csv", folder=tmp_path)
    said = trustgauge("rate", folder=tmp_path).stdout
    assert "note     ours: No causal level: the texts differ in more than gender." in said
    assert "For a level, give the table a column of frames (the sentence without the person) or of" in said
    assert said.count("For a level,") == 2, "once a service"


@pytest.mark.parametrize("option", [(), ("--url",)])
def test_an_address_is_quoted(option: tuple[str, ...], tmp_path: Path) -> None:
    address = 'http://127.0.0.1/a?say="hello"'
    done = trustgauge("init", "--http", *option, address, folder=tmp_path)
    assert done.returncode == 0
    assert "fill in task, request and response; then trustgauge check" in done.stdout
    assert read_plan(tmp_path / "trustgauge.toml")[1]["services"]["mine"]["url"] == address


@pytest.mark.parametrize(
    ("header", "wrong"),
    [
        ("Sentence,Template,Group,ours,theirs,note", "the table does not say whom its texts are about"),
        ("words,Template,Sex,ours,theirs,note", "the table does not say whom its texts are about"),
        ("Sentence,Template,Sex,draw,person,note", "the table has no column of scores"),
    ],
)
def test_a_table_that_cannot_be_rated_says_what_it_lacks(tmp_path: Path, header: str, wrong: str) -> None:
    scored(tmp_path / "scored.csv", header)
    done = trustgauge("init", "--scores", "scored.csv", folder=tmp_path)
    assert (done.returncode, wrong in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "trustgauge.toml").exists()


def test_a_log_is_rated_without_a_call(tmp_path: Path) -> None:
    talked(tmp_path / "log.jsonl")
    began = trustgauge("init", "--log", "log.jsonl", "-o", "log.toml", folder=tmp_path)
    assert (
        began.stdout
        == "wrote    log.toml: 12 conversations of log.jsonl\nnext     trustgauge rate log.toml\n"
    )
    done = trustgauge("rate", "log.toml", "--json", folder=tmp_path)
    assert {one["service"]["name"] for one in json.loads(done.stdout)["ratings"]} == {"bot"}
    assert "error" not in done.stderr


def test_a_log_without_speakers_says_so(tmp_path: Path) -> None:
    talked(tmp_path / "log.jsonl", speaker="colour")
    done = trustgauge("init", "--log", "log.jsonl", folder=tmp_path)
    assert done.returncode == 2
    assert "no table of utterances. Must be columns for the dialog, the speaker and the text" in done.stderr


@pytest.mark.parametrize(
    ("options", "answer", "title"),
    [
        (["--chatbot", "openai/mine", "--url", "{url}/v1"], chat, "chatbot"),
        (["--translator", "openai/mine", "--url", "{url}/v1"], keeps, "translator"),
        (["--translator", "libretranslate", "--url", "{url}"], libretranslate, "translator"),
        (["--http", "--url", "{url}/answer"], lambda _: Response.json({"output": "He."}), "mine"),
    ],
)
def test_a_service_is_asked_as_the_plan_stands(
    tmp_path: Path, serve: Serve, options: list[str], answer: Callable[[Request], Response], title: str
) -> None:
    server = serve(answer)
    began = trustgauge("init", *(one.format(url=server.url) for one in options), folder=tmp_path)
    assert began.returncode == 0, began.stderr
    assert list(read_plan(tmp_path / "trustgauge.toml")[1]["services"]) == [title]
    assert server.requests == []
    checked = trustgauge("check", folder=tmp_path, OPENAI_API_KEY="sk-for-this-test")
    assert checked.returncode == 0, checked.stderr
    assert server.requests


def test_without_a_name_a_chatbot_on_this_machine_is_meant(tmp_path: Path) -> None:
    done = trustgauge("init", "--chatbot", "-o", "bot.toml", folder=tmp_path)
    assert done.stdout.startswith(
        "wrote    bot.toml: ollama/llama3.2; --chatbot PROVIDER/MODEL names another"
    )


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (["--demo", "--http"], "Got --demo, --http"),
        (["--demo", "--url", "http://127.0.0.1"], "--demo asks nobody"),
        (["--chatbot", "opnai/x"], 'Did you mean "openai"?'),
        (["--translator", "apertium", "--url", "http://127.0.0.1"], 'no setting "url"'),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path: Path, options: list[str], wrong: str) -> None:
    done = trustgauge("init", *options, folder=tmp_path)
    assert (done.returncode, wrong in done.stderr) == (2, True), done.stderr
    assert last(done).startswith("exit 2")
