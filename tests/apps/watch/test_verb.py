"""The verb watch as cron and users meet it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.apps.watch.test_watcher import FOUL, talks
from tests.cli.test_commands import last, trustgauge

SERVICE = """\
import re
from pathlib import Path

OTHER = {"She": "He", "He": "She", "she": "he", "he": "she", "her": "his", "his": "her"}

def translated(text, **way):
    mood = Path(__file__).with_name("mood").read_text()
    text = text[::-1]  # another language, and back
    if mood == "exchanging":
        return re.sub(r"\\b(?:[Ss]?he|He|her|his)\\b", lambda found: OTHER[found[0]], text)
    return text.replace("She", "He").replace("her", "his") if mood == "male" else text
"""
PLAN = """\
name = "pronouns"

[services.mine]
use = "round-trip"
via = ["es"]
translator = { use = "function", function = "moody:translated" }

[[experiments]]
method = "two-step"
services = ["mine"]
texts = 40
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "moody.py").write_text(SERVICE)
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "mood").write_text("calm")
    return tmp_path


def test_cron_hears_of_a_change_for_the_worse_once(folder: Path) -> None:
    hook = f"{sys.executable} -c \"import sys; open('told.json', 'a').write(sys.stdin.read())\""
    command = ("watch", "plan.toml", "--once", "--notify", hook)
    first = trustgauge(*command, folder=folder)
    assert first.returncode == 0, first.stderr
    look, rated = first.stdout.splitlines()
    assert re.fullmatch(r"look     1 of 52 · TG-\S+", look)
    assert rated == "rated    mine, two-step gender: DSBS, follows (> 99%), first settled level"
    (folder / "mood").write_text("male")
    second = trustgauge(*command, folder=folder)
    assert second.returncode == 10
    assert last(second) == "exit 10: gate failed: the level of mine has changed for the worse"
    assert "changed  mine, two-step gender, for the worse: DSBS, follows (> 99%, TG-" in second.stdout
    third = trustgauge(*command, folder=folder)
    assert third.returncode == 0
    assert "as before" in third.stdout
    (result,) = (folder / "told.json").read_text().splitlines()
    assert (json.loads(result)["from"], json.loads(result)["to"]) == ("DSBS", "BS")
    (folder / "mood").write_text("calm")
    better = trustgauge(*command[:-1], "false", "--json", folder=folder)
    assert better.returncode == 0, "a change for the better is told and is no failure"
    (change,) = json.loads(better.stdout)["changes"]
    assert change["direction"] == "better"
    assert better.stderr.startswith('note     --notify: "false" ended with code 1')
    assert (folder / "ratings" / "watch.html").is_file()
    assert len(list((folder / "ratings").glob("TG-*/report.html"))) == 4


def test_a_level_that_is_as_before_does_not_hide_that_values_are_exchanged(folder: Path) -> None:
    """He and she were exchanged in every text, and the look said "as before" alone."""
    command = ("watch", "plan.toml", "--once")
    plan = (folder / "plan.toml").read_text()
    (folder / "plan.toml").write_text(plan + 'patterns = ["subject", "possessive"]\n')
    assert "; new:" not in trustgauge(*command, folder=folder).stdout
    (folder / "mood").write_text("exchanging")
    look = trustgauge(*command, folder=folder)
    assert look.returncode == 0, look.stderr
    line = (
        "rated    mine, two-step gender: DSBS, follows (> 99%), as before; new: each value becomes the other"
    )
    assert line in look.stdout.splitlines()
    assert "; new:" not in trustgauge(*command, folder=folder).stdout


def test_it_looks_until_it_is_interrupted(folder: Path) -> None:
    command = [sys.executable, "-m", "trustgauge", "watch", "plan.toml", "--every", "1s", "--json"]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )
    assert process.stdout is not None
    events = [json.loads(process.stdout.readline()) for _ in range(2)]
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert [one["look"] for one in events] == [1, 2]
    assert [one["series"][0]["finding"] for one in events] == ["first", "same"]
    assert process.returncode == 130
    assert "all received answers are saved" in errors


def test_a_log_is_waited_for_and_then_rated(folder: Path) -> None:
    (folder / "bot.toml").write_text(
        'name = "bot"\n[services.bot]\nuse = "eliza"\n[[experiments]]\nmethod = "trust"\n'
        'services = ["bot"]\nissues = ["abuse"]\nprofiles = ["mine"]\norders = { mine = ["abuse"] }\n'
    )
    talks(folder / "log.jsonl", 5, FOUL)
    command = ("watch", "bot.toml", "--log", "log.jsonl", "--grown", "200", "--once")
    waiting = trustgauge(*command, "--json", folder=folder)
    data = json.loads(waiting.stdout)
    assert (data["event"], data["new"], data["wanted"]) == ("waiting", 20, 200)
    assert waiting.returncode == 0
    with (folder / "log.jsonl").open("a") as file:
        file.write("not json\n")
    talks(folder / "log.jsonl", 60, FOUL)
    rated = trustgauge(*command, folder=folder)
    assert rated.returncode == 0, rated.stderr
    assert "log.jsonl, line 41: left out, as not a JSON object" in rated.stdout
    assert "rated    bot, trust mine: High risk (> 99%), first settled level" in rated.stdout


def test_a_level_that_is_not_allowed_is_reported_though_nothing_was_settled_before(folder: Path) -> None:
    """The checker of abuse settles no low risk, so a bot that becomes abusive has no level to change from."""
    (folder / "bot.toml").write_text(
        'name = "bot"\n[services.bot]\nuse = "eliza"\n[[experiments]]\nmethod = "trust"\n'
        'services = ["bot"]\nissues = ["abuse"]\nprofiles = ["mine"]\norders = { mine = ["abuse"] }\n'
    )
    hook = f"{sys.executable} -c \"import sys; open('heard.json', 'a').write(sys.stdin.read())\""
    command = ("watch", "bot.toml", "--log", "log.jsonl", "--once", "--fail-on", "high", "--notify", hook)
    talks(folder / "log.jsonl", 60, ("Good morning.", "It opens at nine."))
    polite = trustgauge(*command, folder=folder)
    assert polite.returncode == 5
    assert last(polite).startswith("exit 5: not settled: bot is L as measured; ")
    talks(folder / "log.jsonl", 60, FOUL)
    foul = trustgauge(*command, folder=folder)
    assert foul.returncode == 10
    assert last(foul) == "exit 10: gate failed: H is as bad as --fail-on H"
    assert "first settled level\nfails    bot, trust mine: High risk, which --fail-on does not" in foul.stdout
    talks(folder / "log.jsonl", 60, FOUL)
    still = trustgauge(*command, "--quiet", folder=folder)
    assert still.returncode == 10
    assert still.stdout == "fails    bot, trust mine: High risk, which --fail-on does not allow\n"
    heard = [json.loads(line) for line in (folder / "heard.json").read_text().splitlines()]
    assert [(one["event"], one["look"], one["level"]) for one in heard] == [
        ("level", 2, "H"),
        ("level", 3, "H"),
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "when to look?"),
        (("--every", "7"), "is no period"),
        (("--every", "0d"), "is no period"),
        (("--once", "--looks", "1"), "--looks"),
        (("--once", "--notify", " "), "--notify: no command"),
        (("--once", "--notify", "./none.sh --loud"), "--notify: no such program."),
        (("--every", "7d", "--notify", "plan.toml"), "--notify: no such program."),
        (("--once", "--fail-on", "high"), '--fail-on: no level "high"'),
        (("--log", "none.jsonl"), "cannot rate a log"),
        (("--once", "--limit-calls", "3"), "a look would exceed a limit"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_asked(
    folder: Path, given: tuple[str, ...], said: str
) -> None:
    done = trustgauge("watch", "plan.toml", *given, folder=folder)
    assert done.returncode == 2
    assert said in done.stderr
    assert not list((folder / "ratings").glob("TG-*"))


def test_an_incomplete_look_exits_4_and_changes_nothing(folder: Path) -> None:
    command = ("watch", "plan.toml", "--once")
    trustgauge(*command, folder=folder)
    (folder / "mood").write_text("male")
    done = trustgauge(*command, "--limit-calls", "30", "--yes", folder=folder)
    assert done.returncode == 4
    assert "mine, two-step gender: not rated" in done.stdout
