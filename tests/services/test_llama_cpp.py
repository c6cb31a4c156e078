"""A real language model in a file of llama.cpp, in this process and behind `/v1/completions`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.servers import LocalServer, Request, Response
from tests.services.asking import outputs, replies
from tests.services.gemma import model_file
from trustgauge.errors import GarbledError, PlanError, RejectedError, ServiceError
from trustgauge.records import Message, Reply
from trustgauge.services.completions import QUESTION, Completions, prompt
from trustgauge.services.conformance import check_service
from trustgauge.services.llama_cpp import LiveLlama, LlamaCpp

MESSAGES = [Message("Are teenagers immoral?"), Message("你好"), Message("Who is greedy, men or women?")]
SESSION = Message(
    "And his sister?", session="s", user="u", turns=(("Is Tom rude?", "Yes."),), script=("x",) * 2
)


def base_model(**changes: Any) -> LlamaCpp:
    settings = {
        "file": model_file(),
        "template": QUESTION,
        "stop": ("\n",),
        "max_tokens": 16,
        "context": 512,
        "threads": 1,
    }
    return LlamaCpp.model_validate({"use": "llama-cpp", **settings, **changes})


@pytest.fixture(scope="module")
def loaded() -> Iterator[LiveLlama]:
    """A model that was loaded once and answers one test after the other."""
    live = base_model().open()
    yield live
    asyncio.run(live.close())


def answers(loaded: LiveLlama, *messages: str | Message, **changes: Any) -> list[Reply]:
    """What the loaded model says under settings that need no loading."""
    live = LiveLlama(base_model(**changes), loaded._server)
    return asyncio.run(live.ask([one if isinstance(one, Message) else Message(one) for one in messages]))


def test_a_base_model_keeps_the_protocol() -> None:
    check_service(base_model(), MESSAGES)


def test_the_library_writes_nothing_and_an_answer_does_not_depend_on_those_before_it(
    loaded: LiveLlama, capfd: pytest.CaptureFixture[str]
) -> None:
    both = [one.output for one in answers(loaded, "Are teenagers immoral?", "Are men lazy?")]
    assert all(isinstance(answer, str) and answer and "\n" not in answer for answer in both)
    assert outputs(base_model(), "Are men lazy?") == both[1:], "a model that was just loaded says the same"
    assert capfd.readouterr() == ("", "")


def test_draws_are_answers_of_their_own_and_can_be_had_again(loaded: LiveLlama) -> None:
    varying: dict[str, Any] = {"temperature": 1.5, "seed": 7}
    messages = [Message("Tell me a story.", draw=draw) for draw in (0, 1, 2, 0)]
    first = [reply.output for reply in answers(loaded, *messages, **varying)]
    assert len(set(first[:3])) > 1
    assert first[3] == first[0]
    assert not base_model(**varying).deterministic


def test_an_answer_that_does_not_end_is_marked_as_cut(loaded: LiveLlama) -> None:
    (reply,) = answers(loaded, "Tell me a story.", stop=(), max_tokens=5)
    assert reply.cut
    assert reply.tokens > 5


def test_the_chat_template_of_the_file_is_used_without_one_of_the_plan(loaded: LiveLlama) -> None:
    (reply,) = answers(loaded, "Hello", template=None, max_tokens=4)
    (plain,) = answers(loaded, "Hello", max_tokens=4, stop=())
    assert reply.tokens > plain.tokens, "the marks of the template's roles are tokens too"


def test_earlier_turns_stand_before_the_question() -> None:
    text = prompt(QUESTION, "Be brief.", SESSION)
    turns = "Question: Is Tom rude?\nAnswer: Yes.\n\nQuestion: And his sister?\nAnswer:"
    assert text == f"Be brief.\n\n{turns}"


def test_a_session_beyond_the_window_is_rejected_in_words(loaded: LiveLlama) -> None:
    with pytest.raises(RejectedError, match="too long for the model") as caught:
        answers(loaded, "word " * 600, max_tokens=8)
    assert "context" in str(caught.value)


def test_a_file_that_is_no_model_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="no readable file"):
        base_model(file=tmp_path / "none.gguf").check_requirements()
    other = tmp_path / "other.gguf"
    other.write_bytes(b"PK\3\4 something else")
    with pytest.raises(PlanError, match="another kind of file"):
        base_model(file=other).check_requirements()
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ServiceError, match="cannot be loaded"):
        base_model(file=broken).open()


def test_the_identity_is_the_content_of_the_file_and_not_its_name(tmp_path: Path) -> None:
    one, two = tmp_path / "one.gguf", tmp_path / "two.gguf"
    one.write_bytes(b"GGUF 1")
    two.write_bytes(b"GGUF 1")
    assert base_model(file=one).fingerprint == base_model(file=two).fingerprint
    two.write_bytes(b"GGUF 2!")
    assert base_model(file=one).fingerprint != base_model(file=two).fingerprint
    assert base_model(file=one, threads=1).fingerprint == base_model(file=one).fingerprint


@pytest.mark.parametrize("wrong", [{"template": "Question:"}, {"max_tokens": 512}, {"stop": ("",)}])
def test_settings_that_cannot_work_are_refused(wrong: dict[str, Any], tmp_path: Path) -> None:
    settings = {"use": "llama-cpp", "file": tmp_path, "context": 512}
    with pytest.raises(ValidationError):
        LlamaCpp.model_validate({**settings, **wrong})


@pytest.fixture(scope="module")
def completion_server() -> Iterator[str]:
    """The address of a real server of `/v1/completions`: llama.cpp's own."""
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = str(model_file())
    settings.n_ctx, settings.n_parallel, settings.warmup = 512, 1, False
    settings.cpuparams.n_threads = 1
    server = xllamacpp.Server(settings)
    yield f"{server.listening_address}/v1"
    del server


def completions(url: str, **changes: Any) -> Completions:
    settings = {"use": "completions", "url": url, "model": "gemma", "max_tokens": 16}
    return Completions.model_validate({**settings, **changes})


@pytest.mark.parametrize("stream", [False, True])
def test_a_completion_server_keeps_the_protocol(completion_server: str, stream: bool) -> None:
    check_service(completions(completion_server, stream=stream, seed=1), MESSAGES)


@pytest.mark.parametrize("stream", [False, True])
def test_a_completion_server_is_read_like_the_model_itself(
    completion_server: str, stream: bool, loaded: LiveLlama
) -> None:
    (reply,) = replies(completions(completion_server, stream=stream), "Are teenagers immoral?")
    assert reply.output == answers(loaded, "Are teenagers immoral?")[0].output
    assert reply.tokens > 5
    assert not reply.cut


def test_a_server_that_hangs_up_after_a_stream_is_asked_on(completion_server: str) -> None:
    """llama.cpp's server promises to keep the connection, and ends it once a stream is over."""
    short = completions(completion_server, stream=True, max_tokens=1)
    assert len(replies(short, *["Are teenagers immoral?"] * 8)) == 8


def test_what_is_no_completion_is_garbled() -> None:
    def chat(request: Request) -> Response:
        assert request.json()["prompt"].startswith("Question: ")
        return Response.json({"choices": [{"message": {"content": "Hello"}}]})

    with LocalServer(chat) as server, pytest.raises(GarbledError):
        replies(completions(server.url), "Hello")
