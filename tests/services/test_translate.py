"""Each translator against a real local server that speaks its protocol, strictly and with faults."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.servers import Handler, LocalServer, Response, script, toy_translation
from tests.services.asking import outputs, replies
from tests.services.protocols.faults import FAULTS
from tests.services.protocols.translators import (
    DeepLServer,
    GoogleServer,
    LibreTranslateServer,
    YandexServer,
    apertium_apy,
    google_error,
)
from trustgauge.errors import (
    BusyError,
    GarbledError,
    KeyMissingError,
    PlanError,
    RefusedError,
    RejectedError,
    ServiceError,
    UnavailableError,
)
from trustgauge.plugins import load
from trustgauge.records import Message
from trustgauge.services.conformance import check_service
from trustgauge.services.translate import (
    ApertiumApy,
    DeepL,
    Google,
    LibreTranslate,
    NetworkTranslator,
    Yandex,
)
from trustgauge.services.transport import MASK

Serve = Callable[..., LocalServer]
KEY = "planted-key-0123456789:fx"


@dataclass(frozen=True)
class Case:
    adapter: type[NetworkTranslator]
    server: Handler
    good: Callable[[list[Any]], Any]  # from texts to a successful answer's JSON
    needs_key: bool = True


CASES = {
    "apertium-apy": Case(
        ApertiumApy, apertium_apy, lambda texts: {"responseData": {"translatedText": texts[0]}}, False
    ),
    "libretranslate": Case(
        LibreTranslate, LibreTranslateServer(), lambda texts: {"translatedText": texts}, False
    ),
    "deepl": Case(DeepL, DeepLServer(KEY), lambda texts: {"translations": [{"text": t} for t in texts]}),
    "google": Case(
        Google,
        GoogleServer(KEY),
        lambda texts: {"data": {"translations": [{"translatedText": t} for t in texts]}},
    ),
    "yandex": Case(Yandex, YandexServer(KEY), lambda texts: {"translations": [{"text": t} for t in texts]}),
}
TEXTS = ("She is a nurse. He is a baker.", "Tom & Anna's <b>shop</b>", "naïve 😀 {text}", "Hi.")


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Case:
    found = CASES[request.param]
    if found.needs_key:
        monkeypatch.setenv(variable(found), KEY)
    return found


def made(case: Case, server: LocalServer, **fields: Any) -> NetworkTranslator:
    return new(case, **{"url": server.url, "target": "tr", "timeout": 2.0} | fields)


def new(case: Case, **fields: Any) -> NetworkTranslator:
    return case.adapter(**fields)


def variable(case: Case) -> str:
    """The usual environment variable of the adapter's key, "" if it takes none."""
    return str(case.adapter.model_fields["key"].default)


def test_translates_by_its_protocol(case: Case, serve: Serve) -> None:
    expected = [toy_translation(text, "en", "tr") for text in TEXTS]
    assert outputs(made(case, serve(case.server)), *TEXTS) == expected


def test_is_found_by_its_name(case: Case) -> None:
    name = next(name for name, other in CASES.items() if other is case)
    assert load("services", name) is case.adapter
    assert case.adapter.named("en-tr") == new(case, use=name, source="en", target="tr")
    assert case.adapter.named("tr") == new(case, use=name, target="tr")


def test_keeps_the_protocol_of_services(case: Case, serve: Serve) -> None:
    check_service(made(case, serve(case.server)), [Message(text) for text in TEXTS])


def test_who_forgets_the_language_reads_so_before_anything_is_sent(case: Case) -> None:
    with pytest.raises(PlanError, match="no language to translate into"):
        new(case, source="en", target="").check_requirements()


def test_as_many_texts_a_request_as_the_protocol_takes(case: Case, serve: Serve) -> None:
    server = serve(case.server)
    description = made(case, server)
    texts = [f"Text number {number}." for number in range(description.batch)]
    assert outputs(description, *texts) == [toy_translation(text, "en", "tr") for text in texts]
    assert len(server.requests) == 1


def test_long_texts_go_in_several_requests(case: Case, serve: Serve) -> None:
    """A request stays within the service's limit of characters, and the answers stay in order."""
    server = serve(case.server)
    description = made(case, server)
    texts = [
        f"{number} " + "long " * (description.most_characters // 15) for number in range(description.batch)
    ]
    assert outputs(description, *texts) == [toy_translation(text, "en", "tr") for text in texts]
    assert len(server.requests) <= len(texts)
    if description.batch > 1:
        assert 1 < len(server.requests) < len(texts)


@pytest.mark.parametrize("fault", ["too fast", "broken", "cut in the body", "no JSON", "empty", "wrong key"])
def test_faults_of_the_network(case: Case, serve: Serve, fault: str) -> None:
    response, expected = FAULTS[fault]
    with pytest.raises(ServiceError) as caught:
        replies(made(case, serve(lambda request: response)), "Hi.")
    assert type(caught.value) is expected


def test_errors_name_the_server_that_was_asked(case: Case, serve: Serve) -> None:
    server = serve(lambda request: Response(502))
    with pytest.raises(UnavailableError, match=f"^{server.url.removeprefix('http://')} answered 502"):
        replies(made(case, server), "Hi.")
    assert new(case).name_in_errors() == new(case).provider
    software = not new(case).own_hosts  # anybody may run it, and its name is no company's
    assert made(case, server).offered_by() == (new(case).provider if software else server.url[7:])


def test_a_late_answer(case: Case, serve: Serve) -> None:
    with pytest.raises(UnavailableError) as caught:
        replies(made(case, serve(lambda request: Response(hang=True)), timeout=0.2), "Hi.")
    assert caught.value.timed_out


@pytest.mark.parametrize("answer", [{}, [], None, "text", 3, {"data": 1}, {"translations": {}}])
def test_answers_of_another_form_are_garbled(case: Case, serve: Serve, answer: Any) -> None:
    with pytest.raises(GarbledError):
        replies(made(case, serve(lambda request: Response.json(answer))), "Hi.")


@pytest.mark.parametrize("texts", [[None], [3], [["a"]], [{"text": "a"}], [True]])
def test_translations_that_are_no_text_are_garbled(case: Case, serve: Serve, texts: list[Any]) -> None:
    with pytest.raises(GarbledError):
        replies(made(case, serve(lambda request: Response.json(case.good(texts)))), "Hi.")


@pytest.mark.parametrize("texts", [[], ["one"], ["one", "two", "three"]])
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if name != "apertium-apy"])
def test_another_number_of_translations_is_garbled(
    name: str, serve: Serve, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    monkeypatch.setenv(variable(case), KEY)
    server = serve(lambda request: Response.json(case.good([*texts])))
    with pytest.raises(GarbledError, match="2 of them"):
        replies(made(case, server), "Hi.", "Ho.")


@pytest.mark.parametrize(
    "text", ["", "O bir hemşire.", "</script><img src=x>", "\x00\x1b[31m", "x" * 1_000_000]
)
def test_whatever_is_answered_is_passed_on(case: Case, serve: Serve, text: str) -> None:
    assert outputs(made(case, serve(lambda request: Response.json(case.good([text])))), "Hi.") == [text]


def test_no_key_in_answers_errors_or_settings(
    case: Case, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = variable(case) or "TG_TEST_KEY"
    monkeypatch.setenv(name, KEY)
    said = Response.json({"error": f"no rights for {KEY}"}, 403)
    description = made(case, serve(script(Response.json(case.good([f"my key: {KEY}"])), said)), key=name)
    assert outputs(description, "Hi.") == [f"my key: {MASK}"]
    with pytest.raises(RefusedError) as caught:
        replies(description, "Hi.")
    assert "planted" not in f"{caught.value!r} {caught.value.__context__!r} {caught.value.__cause__!r}"
    assert "planted" not in f"{description!r} {description.identity()} {description.model_dump_json()}"


def test_a_missing_key_sends_nothing(case: Case, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(case.server)
    description = made(case, server)
    if not case.needs_key:
        description.check_requirements()
        return
    monkeypatch.delenv(description.key)
    with pytest.raises(KeyMissingError, match=description.key):
        description.check_requirements()
    with pytest.raises(KeyMissingError):
        description.open()
    assert server.requests == []


def test_a_wrong_key_is_refused(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    for case in CASES.values():
        if case.needs_key:
            monkeypatch.setenv(variable(case), "another-key-99999")
            with pytest.raises(RefusedError):
                replies(made(case, serve(case.server)), "Hi.")


def test_an_unknown_pair_is_rejected_not_broken(case: Case, serve: Serve) -> None:
    with pytest.raises(RejectedError):
        replies(made(case, serve(case.server), target="xyz"), "Hi.")


def test_a_word_that_is_no_language_is_a_fault_of_the_plan(case: Case) -> None:
    with pytest.raises(ValidationError, match='no language "qq"'):
        new(case, target="qq")
    with pytest.raises(ValidationError, match='Did you mean "tr"'):
        new(case, source="turkish")


def test_the_fingerprint_tells_directions_and_addresses_apart_and_nothing_else(case: Case) -> None:
    one = new(case, target="tr")
    assert one.pair("tr", "en").fingerprint != one.fingerprint
    assert new(case, target="tr", url="https://other.example").fingerprint != one.fingerprint
    assert new(case, target="tr", url="https://other.example/").fingerprint == (
        new(case, target="tr", url="https://other.example").fingerprint
    )
    assert new(case, target="tr", concurrency=2, key="OTHER", timeout=1.0).fingerprint == one.fingerprint
    assert pickle.loads(pickle.dumps(one)) == one


def test_a_password_in_an_address_is_a_fault_of_the_plan(case: Case) -> None:
    with pytest.raises(ValidationError, match="environment variable"):
        new(case, target="tr", url="https://me:secret@host.example")


def test_many_at_once_over_few_connections(serve: Serve) -> None:
    """The pool serves 64 at once with no more connections than that."""
    server = serve(LibreTranslateServer(), latency=0.005)
    description = LibreTranslate(url=server.url, target="tr")

    async def run() -> list[str | float]:
        live = description.open()
        gate = asyncio.Semaphore(64)

        async def one(number: int) -> str | float:
            async with gate:
                return (await live.ask([Message(f"Text {number}")]))[0].output

        found = await asyncio.gather(*(one(number) for number in range(640)))
        await live.close()
        return found

    assert asyncio.run(run()) == [toy_translation(f"Text {number}", "en", "tr") for number in range(640)]
    assert server.accepted <= 64 + 8, "a connection may be lost to a race, not more"


def test_apertium_is_asked_with_its_own_codes_and_without_marks(serve: Serve) -> None:
    server = serve(apertium_apy)
    outputs(ApertiumApy(url=server.url, source="en", target="no"), "Hi.")
    assert server.requests[0].form()["langpair"] == ["eng|nob"]
    assert server.requests[0].form()["markUnknown"] == ["no"]


def test_libretranslate_with_a_key(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(LibreTranslateServer(KEY))
    description = LibreTranslate(url=server.url, target="tr")
    monkeypatch.delenv("LIBRETRANSLATE_API_KEY", raising=False)
    with pytest.raises(RefusedError, match="LIBRETRANSLATE_API_KEY"):
        replies(description, "Hi.")
    monkeypatch.setenv("LIBRETRANSLATE_API_KEY", KEY)
    assert outputs(description, "Hi.") == ["iH."]


def test_deepl_names_a_variant_of_targets_only(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPL_API_KEY", KEY)
    server = serve(DeepLServer(KEY))
    there = DeepL(url=server.url, source="en-GB", target="pt-BR", formality="more")
    outputs(there, "Hi.")
    outputs(there.pair("pt", "en"), "Hi.")
    first, second = (request.json() for request in server.requests)
    assert (first["source_lang"], first["target_lang"], first["formality"]) == ("EN", "PT-BR", "more")
    assert (second["source_lang"], second["target_lang"]) == ("PT", "EN-US")
    assert "model_type" not in first


def test_deepl_knows_the_address_of_a_free_key_and_the_end_of_a_quota(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPL_API_KEY", KEY)
    proxy = serve(lambda request: Response(502))  # nothing may reach the real address from here
    monkeypatch.setenv("https_proxy", proxy.url)
    with pytest.raises(UnavailableError):
        replies(DeepL(target="tr"), "Hi.")
    assert proxy.requests[0].target == "api-free.deepl.com:443"
    with pytest.raises(RefusedError, match="quota"):
        replies(DeepL(target="tr", url=serve(lambda request: Response(456)).url), "Hi.")


def test_google_hides_its_key_and_tells_speed_from_rights(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    server = serve(GoogleServer(KEY))
    outputs(Google(url=server.url, target="zh"), "Hi.")
    assert KEY not in server.requests[0].target
    assert server.requests[0].json()["target"] == "zh-CN"
    fast = google_error(403, "User Rate Limit Exceeded", "userRateLimitExceeded")
    with pytest.raises(BusyError):
        replies(Google(url=serve(lambda request: fast).url, target="tr"), "Hi.")
    spent = google_error(403, "Daily Limit Exceeded", "dailyLimitExceeded")
    with pytest.raises(RefusedError, match="Daily"):
        replies(Google(url=serve(lambda request: spent).url, target="tr"), "Hi.")


def test_yandex_names_its_folder_outside_the_fingerprint(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YANDEX_API_KEY", KEY)
    server = serve(YandexServer(KEY, folder="b1g"))
    with pytest.raises(RefusedError):
        replies(Yandex(url=server.url, target="tr"), "Hi.")
    assert outputs(Yandex(url=server.url, target="tr", folder="b1g"), "Hi.", "") == ["iH.", ""]
    assert Yandex(target="tr", folder="b1g").fingerprint == Yandex(target="tr").fingerprint


@pytest.fixture
def apy() -> Iterator[str]:
    """The address of a real apertium-apy over the installed language pairs."""
    program = shutil.which("apertium-apy")
    if program is None or not Path("/usr/share/apertium/modes/eng-spa.mode").exists():
        pytest.skip("needs the packages apertium-apy and apertium-eng-spa")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, "-p", str(port), "/usr/share/apertium"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
        server.terminate()


@pytest.mark.apertium
def test_a_real_apertium_apy(apy: str) -> None:
    description = ApertiumApy(url=apy, target="es", timeout=60.0)
    first, second = outputs(description, "She is a nurse.", "A zzxq.")
    assert "enfermera" in str(first)
    assert "zzxq" in str(second)
    assert "*" not in str(second), "unknown words come without their mark"
    with pytest.raises(RejectedError, match="not installed"):
        replies(description.pair("en", "tr"), "Hi.")
    check_service(description, [Message("Hello."), Message("She is a nurse.")])
