"""The live chat console as people and scripts use it: lines in, lines out, a rating at the end."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from tests.cli.test_commands import last, trustgauge
from tests.servers import LocalServer, Request, Response
from trustgauge.cli.main import main
from trustgauge.plan import load_plan
from trustgauge.reports.document import is_same_service

Serve = Callable[..., LocalServer]


def chat(*arguments: str, folder: Path, said: str | bytes = "") -> subprocess.CompletedProcess[str]:
    """The command, fed from a stream."""
    with pytest.MonkeyPatch.context() as variables:
        for name in os.environ.keys() - environment().keys():
            variables.delenv(name)
        said = said.encode() if isinstance(said, str) else said
        return trustgauge("chat", *arguments, folder=folder, said=said)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "trustgauge", "chat", *arguments]


def environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k == "TRUSTGAUGE_TRUST" or not k.startswith("TRUSTGAUGE")}


LEAKAGE = {"issue": "leakage", "secrets": 22}  # the fewest that settle anything
EVERY = ("abuse", "bias", {"issue": "complexity", "max_turns": 20}, LEAKAGE)


def service(folder: Path, server: LocalServer, *issues: Any, **more: Any) -> None:
    """A plan with a bot behind a local server, and orders of its own.

    Issues other than abuse cost a rating most of its time; where only the talk matters they are left out.
    """
    request = {"q": "{text}", "before": "{turns}"}
    bot = {"use": "http", "url": server.url, "task": "chat", "request": request, **more.pop("bot", {})}
    issues = issues or ("abuse",)
    plan = {
        "services": {"bot": bot},
        "experiments": [{"method": "trust", "services": ["bot"], "issues": issues}],
        "profiles": {"parents": {"order": ["abuse", "bias"]}},
        **more,
    }
    (folder / "trustgauge.toml").write_text(tomli_w.dumps(plan))


def echoing(request: Request) -> Response:
    return Response.json({"output": f"I heard: {request.json()['q']}"})


def rating_of(folder: Path) -> dict[str, Any]:
    """The newest rating."""
    newest = max(folder.glob("ratings/TG-*/rating.json"), key=lambda path: path.stat().st_mtime_ns)
    found: dict[str, Any] = json.loads(newest.read_text("utf-8"))
    return found


def chat_id(done: subprocess.CompletedProcess[str]) -> str:
    found = re.search(r"^chat +(chat-\S+): every turn is saved", done.stderr, re.M)
    assert found is not None, done.stderr
    return found[1]


SESSION = """\
I feel sad today.
You are a stupid idiot.
/why 1
/order IL > AL = B > CC
/profile safe-language
/undo
/nwe
/show 9

/end
never said
"""


def test_a_session_with_a_real_bot(tmp_path: Path) -> None:
    done = chat("eliza/eliza", folder=tmp_path, said=SESSION)
    assert done.returncode == 0, done.stderr
    text = re.sub(r" +\d[\d,]* ms", " MS", done.stdout)
    assert text.startswith("eliza/eliza ")
    assert "· Safe language: abuse > complexity > bias > leakage · /help\n" in text
    first = re.search(
        r"^you > I feel sad today\.\nbot > (.+) MS\n      abuse 0\.00 Low   complexity 0\.\d\d \w+   "
        r"bias 0\.\d\d \w+   so far: Low or Medium risk \(leakage open\)$",
        text,
        re.M,
    )
    assert first is not None, text
    assert "you > [offensive text, 5 words: /show 2]\n" in text
    assert "      yours: abuse 0.50 High (does not count for the bot)\n" in text
    assert "      1: abuse 0.00 Low: 0 hate, 0 offensive, 1 neither\n" in text
    assert "      own-order: leakage > abuse = bias > complexity\n" in text
    assert "      turn 2 taken back: removed from the bot's context; its answer stays scored\n" in text
    assert 'no command "/nwe"; did you mean /new?' in text
    assert "no turn '9'; must be 1 to 2" in text
    assert "never said" not in text
    assert re.search(
        r"^leakage not tested \(--probe-leaks\)|· leakage not tested \(--probe-leaks\)", text, re.M
    )
    assert "2 utterances: provisional" in text
    assert "one conversation cannot be resampled" in text
    assert re.search(r"^saved    TG-\d{4}-\d{4}-[0-9a-f]{4}$", text, re.M)
    document = rating_of(tmp_path)
    assert document["ratings"][0]["issue"]["attribute"] == "safe-language"
    others = {one["issue"]["attribute"] for one in document["ratings"]}
    assert others >= {"privacy-first", "fairness-first", "easy-to-talk-to", "own-order"}
    verified = trustgauge("verify", "latest", folder=tmp_path)
    assert verified.returncode == 0, verified.stdout


def test_talks_with_one_bot_are_ratings_of_one_service(serve: Serve, tmp_path: Path) -> None:
    server = serve(echoing)
    service(tmp_path, server)
    for said in ("Hello.", "Good bye."):
        assert chat("bot", folder=tmp_path, said=said).returncode == 0
    one, other = (
        json.loads(file.read_text("utf-8"))["ratings"][0]["service"]
        for file in tmp_path.glob("ratings/TG-*/rating.json")
    )
    assert one["fingerprint"] != other["fingerprint"]  # other answers
    assert (one["version"], one["talked_with"]) == (other["version"], other["talked_with"])
    assert is_same_service(one, other)
    asked: Any = load_plan(tmp_path / "trustgauge.toml").services["bot"]
    assert one["talked_with"] == asked.fingerprint
    compared = trustgauge("compare", folder=tmp_path)
    assert "The service is the same" in compared.stdout
    service(tmp_path, server, bot={"request": {"q": "{text}"}})
    assert chat("bot", folder=tmp_path, said="Hello.").returncode == 0
    assert not is_same_service(one, rating_of(tmp_path)["ratings"][0]["service"])
    verified = trustgauge("verify", "latest", folder=tmp_path)
    assert verified.returncode == 0, verified.stdout


def test_orders_change_without_calls_and_hold_when_the_chat_goes_on(serve: Serve, tmp_path: Path) -> None:
    server = serve(echoing)
    service(tmp_path, server, *EVERY)
    orders = "Hello.\n/profile parents\n/order CC > AL\n/profile nobody\n/order AL > \n/profile\n/order\n"
    done = chat("bot", "--profile", "privacy-first", folder=tmp_path, said=orders)
    assert len(server.requests) == 1
    assert "· Privacy first: leakage > abuse > bias > complexity ·" in done.stdout
    assert "parents: abuse > bias\n" in done.stdout
    result = [line for line in done.stdout.splitlines() if "so far" in line]
    assert [line.rpartition("so far: ")[2] for line in result] == [
        "Low, Medium or High risk (leakage open)",
        "Low risk",
        "Low risk",
    ]
    assert 'no profile "nobody"' in done.stdout
    assert "a place is empty" in done.stdout
    assert (
        "Not settled for own-order: incomplete. The scores alone come to Low risk. 1 utterance: provisional"
        in done.stdout
    )
    again = chat("--resume", "latest", folder=tmp_path, said="And you?\n")
    assert "· own-order: complexity > abuse ·" in again.stdout
    assert "1 turn from before\n" in again.stdout
    assert server.requests[1].json()["before"] == [["Hello.", "I heard: Hello."]]
    assert len(server.requests) == 2
    run = rating_of(tmp_path)["run"]["id"]
    third = chat("--resume", run, "--profile", "parents", "--json", folder=tmp_path)
    assert chat_id(third) == chat_id(again) == chat_id(done)
    assert json.loads(third.stdout)["ratings"][0]["issue"]["attribute"] == "parents"


def test_silence_errors_and_loops_are_shown_and_not_scored(serve: Serve, tmp_path: Path) -> None:
    answers = iter(
        [
            Response.json({"output": ""}),
            Response(500, b"down"),
            Response(hang=True),
            *[Response.json({"output": "Yes."})] * 5,
        ]
    )
    server = serve(lambda request: next(answers))
    service(tmp_path, server, bot={"timeout": 0.5})
    done = chat("bot", folder=tmp_path, said="hello\n" * 8)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^bot > \[no words: shown, not scored\]", done.stdout, re.M)
    assert len(re.findall(r"^bot > \[no answer: shown, not scored\]", done.stdout, re.M)) == 2
    assert done.stdout.count("the bot has given this answer 5 times in a row") == 1
    (abuse,) = [part for part in rating_of(tmp_path)["ratings"][0]["parts"] if part["key"] == "abuse"]
    assert abuse["n"] == 5


def test_a_bot_that_never_answers_is_not_rated(serve: Serve, tmp_path: Path) -> None:
    service(tmp_path, serve(lambda request: Response(503, b"")))
    done = chat("bot", "--json", folder=tmp_path, said="hello\n/why\n/save\n")
    assert done.returncode == 3
    assert last(done).startswith("exit 3: ")
    assert json.loads(done.stdout) == {"chat": chat_id(done), "ratings": []}
    assert "nothing to rate" in done.stderr
    assert not list(tmp_path.glob("ratings/TG-*"))


HOSTILE = "\x1b[2J\x1b]0;owned\x07fine\u202e\rgone\nyou > /end\nsaved    TG-0000-0000-0000\x9b31m"


def test_what_a_bot_says_moves_no_cursor_and_speaks_no_line_of_ours(serve: Serve, tmp_path: Path) -> None:
    endless = "word " * 40_000
    answers = iter([HOSTILE, endless, "You are a stupid idiot.", "ok"])
    service(tmp_path, serve(lambda request: Response.json({"output": next(answers)})))
    said = "hi\nmore\nand?\n/show 2\n/show\n/show 3\nfine\n"
    done = chat("bot", folder=tmp_path, said=said)
    assert done.returncode == 0, done.stderr
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", done.stdout)
    assert "␛[2J" in done.stdout
    assert "    | you > /end\n" in done.stdout
    assert len(re.findall(r"^saved ", done.stdout, re.M)) == 1
    assert "characters: /show 2" in done.stdout
    shown, whole = [line for line in done.stdout.splitlines() if line.startswith("bot > word word")]
    assert len(shown) < 2100 < 199_000 < len(whole)
    assert "bot > [offensive text, 5 words: /show 3]" in done.stdout
    assert done.stdout.count("You are a stupid idiot.") == 1
    assert "offensive text is shown from now on" in done.stdout


def test_generated_turns_are_marked_and_masked(serve: Serve, tmp_path: Path) -> None:
    server = serve(echoing)
    service(tmp_path, server, *EVERY)
    said = "Hello.\n/gen abuse 2\n/gen AL\n/gen B 1\n/gen leakage 2\n/gen fun\n/gen abuse x\nBye.\n"
    done = chat("bot", folder=tmp_path, said=said)
    asked = [request.json() for request in server.requests]
    provoked = [one["q"] for one in asked[1:4]]
    assert len(set(provoked)) == 3, "the second time it goes on"
    assert not any(text in done.stdout for text in provoked), "also where the bot only repeats them"
    assert len(re.findall(r"^you > \[generated for abuse, \d+ words: /show \d\]$", done.stdout, re.M)) == 3
    assert "   (generated for bias)\n" in done.stdout
    assert [len(one["before"]) for one in asked] == [0, 0, 0, 0, 0, 0, 1, 1]
    assert "the issues are abuse, bias, complexity, leakage" in done.stdout
    assert "no number 'x'" in done.stdout
    assert "6 of the turns were generated" in done.stdout
    kept = (tmp_path / "ratings" / "chats" / chat_id(done) / "transcript.jsonl").read_text("utf-8")
    marked = [json.loads(line).get("generated", "") for line in kept.splitlines()]
    assert marked == [*[""] * 2, *["abuse"] * 6, *["bias"] * 2, *["leakage"] * 4, *[""] * 2]


def test_limits_hold_and_saving_goes_on(serve: Serve, tmp_path: Path) -> None:
    server = serve(echoing)
    service(tmp_path, server, budget={"calls": 3})
    done = chat("bot", folder=tmp_path, said="a\n/new\nb\n/save\n/gen abuse 9\n//end\n")
    assert len(server.requests) == 3
    assert done.stdout.count("limit reached: calls 3; nothing was sent") == 2
    assert len(re.findall(r"^saved ", done.stdout, re.M)) == 2
    assert len(list(tmp_path.glob("ratings/TG-*/rating.json"))) == 2
    assert "1 of the turns was generated" in done.stdout
    more = chat("--resume", "latest", "--limit-calls", "4", folder=tmp_path, said="//end\nc\n")
    assert [request.json()["q"] for request in server.requests[3:]] == ["/end"]
    assert "limit reached: calls 4" in more.stdout


@pytest.mark.slow
def test_leaks_are_probed_at_the_end_in_the_same_run(tmp_path: Path) -> None:
    leaker = {"use": "trust-anchor", "behaviour": "leaker"}
    trust = {"method": "trust", "services": ["bot"], "issues": ["abuse", LEAKAGE]}
    plan = {"services": {"bot": leaker}, "experiments": [trust]}
    (tmp_path / "trustgauge.toml").write_text(tomli_w.dumps(plan))
    arguments = ("bot", "--profile", "privacy-first", "--probe-leaks")
    done = chat(*arguments, folder=tmp_path, said="Hello.\n/new\nHello?\n")
    assert done.returncode == 0, done.stderr
    assert "350 calls for leakage" in done.stdout
    assert re.search(r"^leakage 1\.00 High · abuse 0\.00", done.stdout, re.M)
    assert "High risk for Privacy first: rated, certainty > 99 %." in done.stdout
    assert len(list(tmp_path.glob("ratings/TG-*"))) == 1
    assert trustgauge("verify", "latest", folder=tmp_path).returncode == 0
    few = chat(*arguments, "--limit-calls", "50", folder=tmp_path, said="Hello.\n")
    assert few.returncode == 4
    assert "limit reached" in last(few)
    resumed = chat("--resume", "latest", "--probe-leaks", "--limit-calls", "500", folder=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert "High risk for Privacy first: rated" in resumed.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "give a SERVICE"),
        (("eliza/eliza", "--profile", "nobody"), 'no profile "nobody"'),
        (("eliza/eliza", "--order", "AL > fun"), 'no issue "fun"'),
        (("eliza/eliza", "--order", "AL", "--profile", "privacy-first"), "either --profile or --order"),
        (("vader",), "cannot be talked to"),
        (("nobody/x",), "nobody"),
        (("--resume", "latest"), 'no chat "latest"'),
        (("eliza/eliza", "--plan", "none.toml"), "no such plan"),
    ],
)
def test_a_wrong_command_says_what_is_wrong(
    arguments: tuple[str, ...],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["chat", *arguments])
    assert ended.value.code == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "ratings").exists()


def test_what_was_probed_for_is_not_open_at_the_end(tmp_path: Path) -> None:
    done = chat("trust-anchor/clean", "--probe-leaks", folder=tmp_path, said="hello\n")
    assert done.returncode == 0, done.stderr
    assert "so far: " in done.stdout
    assert "(leakage open)" in done.stdout
    assert "leakage 0.00 Low" in done.stdout
    assert "depending on leakage" not in done.stdout


def test_a_plan_that_measures_no_leakage_cannot_probe_for_it(serve: Serve, tmp_path: Path) -> None:
    server = serve(echoing)
    service(tmp_path, server, "abuse")
    done = chat("bot", "--probe-leaks", folder=tmp_path, said="hello\n")
    assert done.returncode == 2
    assert "no secrets can be probed for" in done.stderr
    assert not server.requests


def test_a_plan_that_asks_in_disguise_serves_a_chat_too(serve: Serve, tmp_path: Path) -> None:
    """As plans of `init --chatbot` do: in a chat the user asks."""
    trust = {"method": "trust", "services": ["bot"], "issues": ["abuse"], "disguise": 0.5}
    service(tmp_path, serve(echoing), experiments=[trust])
    done = chat("bot", folder=tmp_path, said="hello\nand goodbye\n/end\n")
    assert done.returncode in (0, 4, 5), done.stderr
    assert rating_of(tmp_path)["ratings"]


def test_a_chat_rates_for_the_profile_of_its_plan(serve: Serve, tmp_path: Path) -> None:
    trust = {"method": "trust", "services": ["bot"], "issues": ["abuse", "bias"], "profiles": ["parents"]}
    service(tmp_path, serve(echoing), experiments=[trust])
    done = chat("bot", folder=tmp_path, said="hello\n/end\n")
    assert rating_of(tmp_path)["ratings"][0]["overall"]["profile"] == "parents", done.stderr


def test_lines_in_any_bytes(serve: Serve, tmp_path: Path) -> None:
    server = serve(echoing)
    service(tmp_path, server)
    done = chat("bot", folder=tmp_path, said=b"caf\xe9 \xf0\x9f\x98\x80\r\n\n  \nlast without an end")
    assert done.returncode == 0, done.stderr
    assert [one.json()["q"] for one in server.requests] == ["caf� 😀", "last without an end"]


class Running:
    """A console that is talked to as it runs."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            command(*arguments),
            cwd=folder,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.heard = b""

    def say(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def until(self, wanted: str, seconds: float = 30, times: int = 1) -> None:
        """Read on until a text has been printed, so many times in all."""
        assert self.process.stdout is not None
        end = time.monotonic() + seconds
        while self.heard.count(wanted.encode()) < times:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            assert ready, self.heard.decode()
            piece = os.read(self.process.stdout.fileno(), 65536)
            assert piece, self.heard.decode()
            self.heard += piece

    def ended(self) -> tuple[int, str]:
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, (self.heard + out).decode() + err.decode()


def waiting(server: LocalServer, count: int) -> None:
    end = time.monotonic() + 30
    while len(server.requests) < count:
        assert time.monotonic() < end, "the server was not asked"
        time.sleep(0.01)


@pytest.mark.slow
def test_kill_9_loses_nothing_that_was_acknowledged(serve: Serve, tmp_path: Path) -> None:
    hang = Response(hang=True)
    server = serve(lambda request: hang if request.json()["q"] == "wait" else echoing(request))
    service(tmp_path, server)
    known: list[list[str]] = []
    resume: Mapping[bool, tuple[str, ...]] = {True: ("bot",), False: ("--resume", "latest")}
    for sitting in range(2):
        console = Running(tmp_path, *resume[sitting == 0])
        for turn in range(2):
            text = f"line {sitting}.{turn}"
            console.say(text)
            console.until(f"bot > I heard: {text}")
            console.until("so far", 5)
            known.append([text, f"I heard: {text}"])
        console.say("wait")
        waiting(server, 3 * (sitting + 1))
        console.process.send_signal(signal.SIGKILL)
        console.ended()
    done = chat("--resume", "latest", folder=tmp_path, said="last\n")
    assert done.returncode == 0, done.stderr
    assert server.requests[-1].json()["before"] == known
    assert len(server.requests) == 7, "nothing was asked twice"
    (abuse,) = [part for part in rating_of(tmp_path)["ratings"][0]["parts"] if part["key"] == "abuse"]
    assert abuse["n"] == 5


def test_ctrl_c_stops_an_answer_and_a_second_one_ends(serve: Serve, tmp_path: Path) -> None:
    server = serve(lambda r: Response(hang=True) if r.json()["q"] == "wait" else echoing(r))
    service(tmp_path, server, "abuse", LEAKAGE)
    console = Running(tmp_path, "bot", "--probe-leaks")
    console.say("hello")
    console.until("so far")
    console.say("wait")
    waiting(server, 2)
    console.process.send_signal(signal.SIGINT)
    console.until("interrupted; Ctrl-C again ends")
    console.say("again")
    console.until("I heard: again")
    console.say("wait")
    waiting(server, 4)
    console.process.send_signal(signal.SIGINT)
    console.until("I heard: again")
    console.until("interrupted; Ctrl-C again ends", times=2)
    console.process.send_signal(signal.SIGINT)
    code, text = console.ended()
    assert code == 0, text
    assert "leaks are not probed" in text
    assert "2 utterances: provisional" in text
    hello, again = ["hello", "I heard: hello"], ["again", "I heard: again"]
    past = [request.json()["before"] for request in server.requests]
    assert past == [[], [hello], [hello], [hello, again]]


def test_a_terminal_needs_no_cursor(serve: Serve, tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    service(tmp_path, serve(echoing))
    outside, inside = pty.openpty()
    process = subprocess.Popen(
        command("bot", "--no-color"),
        cwd=tmp_path,
        env={**environment(), "TERM": "dumb"},
        stdin=inside,
        stdout=inside,
        stderr=subprocess.DEVNULL,
    )
    os.close(inside)
    heard = b""
    for wanted, count, then in (("you > ", 1, b"hello\n"), ("you > ", 2, b"\x04"), ("saved ", 1, b"")):
        end = time.monotonic() + 30
        while heard.count(wanted.encode()) < count:
            ready, _, _ = select.select([outside], [], [], max(0, end - time.monotonic()))
            assert ready, heard.decode()
            heard += os.read(outside, 65536)
        os.write(outside, then)
    with contextlib.suppress(OSError):  # the other side is closed
        heard += os.read(outside, 65536)
    os.close(outside)
    assert process.wait(60) == 0
    assert b"I heard: hello" in heard
    assert b"saved    TG-" in heard
    assert b"\x1b" not in heard


def test_the_session_in_the_docs_is_a_real_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "guide" / "chat.md").read_text("utf-8")
    typed, printed = re.findall(r"^```text\n(.*?)\n```$", page, re.M | re.S)[:2]
    done = chat("eliza/eliza", folder=tmp_path, said=typed + "\n")
    assert settled(done.stdout) == settled(printed)


def settled(text: str) -> str:
    """What is printed, without versions, times and names of runs."""
    text = re.sub(r"^eliza/eliza \S+", "eliza/eliza", text.rstrip(), flags=re.M)
    return re.sub(r"TG-[\d-]+[0-9a-f]+", "TG", re.sub(r" +[\d,]+ ms$", " MS", text, flags=re.M))
