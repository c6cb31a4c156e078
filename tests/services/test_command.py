"""The command service, over real programs that behave well, badly, or not at all."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.services.asking import outputs, replies, replies_to
from trustgauge.errors import GarbledError, MissingPartError, RejectedError, ServiceError, UnavailableError
from trustgauge.records import Message
from trustgauge.services import processes, redact
from trustgauge.services.command import Command


def program(folder: Path, body: str, **settings: Any) -> Command:
    """A program that reads a line into `asked` and lets `body` print something."""
    path = folder / "bot.py"
    path.write_text(
        "import json, os, sys, time\ndef say(**answer):\n    print(json.dumps(answer), flush=True)\n"
        "count = 0\nfor line in sys.stdin:\n    asked = json.loads(line)\n"
        "    text = asked['text']\n    count += 1\n" + "".join(f"    {line}\n" for line in body.splitlines())
    )
    return Command.model_validate({"command": [sys.executable, str(path)], "task": "chat", **settings})


def once(folder: Path, body: str, *words: str, **settings: Any) -> Command:
    path = folder / "once.py"
    path.write_text("import os, sys, time\n" + body)
    command = [sys.executable, str(path), *words]
    return Command.model_validate({"command": command, "talk": "once", "task": "chat", **settings})


class TestLines:
    def test_one_process_answers_in_order(self, tmp_path: Path) -> None:
        service = program(tmp_path, "say(output=f'{os.getpid()} {count} {text}')")
        answers = [str(one).split(" ", 2) for one in outputs(service, "a", "b", "c")]
        assert len({pid for pid, _, _ in answers}) == 1
        assert [(count, text) for _, count, text in answers] == [("1", "a"), ("2", "b"), ("3", "c")]

    def test_gets_all_it_needs_to_know(self, tmp_path: Path) -> None:
        service = program(tmp_path, "say(id=asked['id'], output=json.dumps(asked))", source="en", target="es")
        cast = (("ann", "t1"), ("ann", "t1"), ("bob", "t2"))
        script = ("a", "hi", "c")
        message = Message("hi", 2, "s1", "ann", turns=(("a", "b"),), script=script, turn=1, cast=cast)
        reply = asyncio.run(replies_to(service, [message]))[0]
        given = json.loads(str(reply.output))
        run = given["session"].removeprefix("s1/t1-2-")
        expected = {
            "id": 1,
            "text": "hi",
            "draw": 2,
            "session": f"s1/t1-2-{run}",
            "source": "en",
            "target": "es",
            "turns": [["a", "b"]],
            "user": f"s1-ann-2-{run}",
            "talk": f"s1/t1-2-{run}",
        }
        assert given == expected
        again = json.loads(str(asyncio.run(replies_to(service, [message]))[0].output))
        assert again["session"] != given["session"], "a program that remembers knows one run only"
        alone = json.loads(str(asyncio.run(replies_to(service, [Message("hi")]))[0].output))
        assert alone["session"] == ""

    def test_hostile_texts_come_back_as_they_went(self, tmp_path: Path) -> None:
        service = program(tmp_path, "say(output=text)")
        texts = [
            "",
            "a\nb\r\n",
            "\0\x1b[31m",
            "</script>",
            "\ud800",
            "\u2028",
            "x" * 1_000_000,
            '{"output": 1}',
        ]
        assert outputs(service, *texts) == [text.replace("\ud800", "\ufffd") for text in texts]

    def test_scores_are_numbers(self, tmp_path: Path) -> None:
        service = program(tmp_path, "say(output=len(text) / 2)", task="score")
        assert outputs(service, "abc", "") == [1.5, 0.0]

    def test_refusals_tokens_and_cost(self, tmp_path: Path) -> None:
        body = "say(refused=True) if text == 'no' else say(output='yes', tokens=7, usd=0.25)"
        refused, answered = replies(program(tmp_path, body), "no", "please")
        assert refused.refused
        assert (answered.output, answered.tokens, answered.usd) == ("yes", 7, 0.25)

    def test_an_error_of_the_message_is_not_tried_again(self, tmp_path: Path) -> None:
        service = program(tmp_path, "say(error='too rude')")
        with pytest.raises(RejectedError, match="too rude") as result:
            replies(service, "x")
        assert not result.value.retry

    @pytest.mark.parametrize(
        "body",
        [
            "print('hello', flush=True)",
            "print('[1]', flush=True)",
            "say(said='hello')",
            "say(output=None)",
            "say(output=['a'])",
            "say(id=99, output='late')",
            "say(output='x', tokens='many')",
            "print('[' * 100000, flush=True)",
        ],
    )
    def test_a_line_that_is_no_answer_is_garbled(self, tmp_path: Path, body: str) -> None:
        with pytest.raises(GarbledError):
            replies(program(tmp_path, body), "x")

    @pytest.mark.parametrize("value", ["'good'", "True", "float('nan')", "10**400", "None"])
    def test_a_score_that_is_no_number_is_garbled(self, tmp_path: Path, value: str) -> None:
        with pytest.raises(GarbledError):
            replies(program(tmp_path, f"say(output={value})", task="score"), "x")

    def test_a_line_without_end_is_cut_off(self, tmp_path: Path) -> None:
        body = f"print('x' * {processes.LARGEST + 10}, flush=True)"
        with pytest.raises(GarbledError, match="more than"):
            replies(program(tmp_path, body), "x")

    def test_death_is_told_with_its_last_words_and_the_next_message_finds_it_alive(
        self, tmp_path: Path
    ) -> None:
        service = program(tmp_path, "if text == 'die': sys.exit('out of memory')\nsay(output=f'{count}')")

        async def run() -> None:
            live = service.open()
            try:
                with pytest.raises(
                    UnavailableError, match=r"ended with code 1; its last words: out of memory"
                ):
                    await live.ask([Message("die")])
                assert (await live.ask([Message("x")]))[0].output == "1"
            finally:
                await live.close()

        asyncio.run(run())

    def test_much_noise_on_standard_error_neither_stops_it_nor_fills_the_message(
        self, tmp_path: Path
    ) -> None:
        body = "sys.stderr.write('noise ' * 100000)\nif text == 'die': sys.exit(3)\nsay(output=text)"
        service = program(tmp_path, body)
        assert outputs(service, "x", "y") == ["x", "y"]
        with pytest.raises(UnavailableError) as result:
            replies(service, "die")
        assert len(str(result.value)) < 800

    def test_silence_ends_at_the_time_out(self, tmp_path: Path) -> None:
        service = program(tmp_path, "if text == 'x': time.sleep(60)\nsay(output=str(count))", timeout=0.5)

        async def run() -> None:
            live = service.open()
            try:
                began = time.monotonic()
                with pytest.raises(UnavailableError) as result:
                    await live.ask([Message("x")])
                assert result.value.timed_out
                assert time.monotonic() - began < 20
                assert (await live.ask([Message("y")]))[0].output == "1"  # a new process
            finally:
                await live.close()

        asyncio.run(run())

    def test_closing_ends_the_process_and_its_children(self, tmp_path: Path) -> None:
        body = "import subprocess\nchild = subprocess.Popen(['sleep', '60'])\nsay(output=str(child.pid))"
        pid = int(outputs(program(tmp_path, body), "x")[0])
        for _ in range(100):
            if not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2]:
                break
            time.sleep(0.02)
        else:
            os.kill(pid, 9)
            pytest.fail("the child lives on")

    def test_secrets_in_its_last_words_are_not_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("BOT_API_KEY", "planted-4711")
        service = program(tmp_path, "sys.exit('bad key ' + os.environ['BOT_API_KEY'])")
        with pytest.raises(UnavailableError, match=r"bad key \*\*\*\*") as result:
            replies(service, "x")
        assert "planted" not in str(result.value)
        assert redact("key planted-4711") == "key ****"


class TestOnce:
    def test_a_process_for_each_message(self, tmp_path: Path) -> None:
        service = once(tmp_path, "print(os.getpid(), sys.stdin.read().upper())")
        first, second = (str(one).split() for one in outputs(service, "he", "she"))
        assert (first[1], second[1]) == ("HE", "SHE")
        assert first[0] != second[0]

    def test_by_argument(self, tmp_path: Path) -> None:
        service = once(tmp_path, "print(sys.argv[1:])", "--text={text}", "; echo $HOME")
        assert outputs(service, "$(id) 'x'") == [str(["--text=$(id) 'x'", "; echo $HOME"])]

    def test_what_cannot_be_an_argument_is_rejected(self, tmp_path: Path) -> None:
        service = once(tmp_path, "print(sys.argv[1])", "{text}")
        for text in ("a\0b", "x" * 5_000_000):
            with pytest.raises(RejectedError, match="argument"):
                replies(service, text)

    def test_large_texts_pass_through(self, tmp_path: Path) -> None:
        service = once(tmp_path, "sys.stdout.write(sys.stdin.read())")
        text = "he said\n" * 200_000
        assert outputs(service, text) == [text.removesuffix("\n")]

    def test_score(self, tmp_path: Path) -> None:
        assert outputs(once(tmp_path, "print(-0.5)", task="score"), "x") == [-0.5]

    def test_a_program_that_fails(self, tmp_path: Path) -> None:
        with pytest.raises(UnavailableError, match=r"code 4; its last words: oh no"):
            replies(once(tmp_path, "print('half'); sys.stderr.write('oh no'); sys.exit(4)"), "x")

    def test_a_program_that_never_ends(self, tmp_path: Path) -> None:
        with pytest.raises(UnavailableError) as result:
            replies(once(tmp_path, "time.sleep(60)", timeout=0.5), "x")
        assert result.value.timed_out

    def test_output_that_is_no_text(self, tmp_path: Path) -> None:
        with pytest.raises(GarbledError, match="UTF-8"):
            replies(once(tmp_path, "sys.stdout.buffer.write(b'\\xff\\xfe')"), "x")

    def test_output_without_end(self, tmp_path: Path) -> None:
        with pytest.raises(GarbledError, match="more than"):
            replies(once(tmp_path, "while True: sys.stdout.write('x' * 65536)"), "x")


class TestDescription:
    def test_a_program_that_is_not_there(self) -> None:
        service = Command(command=("no-such-program-here",))
        with pytest.raises(MissingPartError, match="no-such-program-here"):
            service.check_requirements()

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        service = Command(command=(sys.executable, "x.py"), folder=tmp_path / "gone")
        with pytest.raises(ServiceError, match="cannot be started"):
            replies(service, "x")

    def test_runs_in_the_plans_folder(self, tmp_path: Path) -> None:
        settings = {
            "use": "command",
            "command": f"{sys.executable} -c 'import os; print(os.getcwd())'",
            "talk": "once",
        }
        service = Command.model_validate(settings, context={"folder": tmp_path})
        assert outputs(service, "x") == [str(tmp_path)]
        assert service.command[1] == "-c"

    def test_the_fingerprint_holds_what_may_change_an_answer(self) -> None:
        one = Command(command=("bot",))
        assert (
            one.fingerprint
            == Command(command=("bot",), timeout=3, concurrency=9, folder=Path("/x")).fingerprint
        )
        assert one.fingerprint != Command(command=("bot",), revision="2").fingerprint
        assert one.fingerprint != Command(command=("bot",), talk="once").fingerprint

    def test_an_empty_command_is_refused(self) -> None:
        with pytest.raises(ValidationError, match="empty"):
            Command(command=())
