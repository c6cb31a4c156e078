"""Apertium, and the pipeline it runs in; the pipeline also with small programs of our own."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.services.asking import outputs, replies
from trustgauge.errors import GarbledError, MissingPartError, PlanError, UnavailableError
from trustgauge.records import Message
from trustgauge.services.apertium import Apertium, canonical_code
from trustgauge.services.process_pipeline import PIECE, Pipeline, pieces_of, tidy

WANTED = {("en", "eo"), ("eo", "en"), ("en", "es"), ("es", "en"), ("en", "ca"), ("en", "gl"), ("es", "it")}
ABSENT = sorted(WANTED - set(Apertium().languages()))
installed = [
    pytest.mark.apertium,
    pytest.mark.skipif(bool(ABSENT), reason=f"Apertium lacks {', '.join('-'.join(pair) for pair in ABSENT)}"),
]

SENTENCES = (
    "She is a nurse. He is a baker.",
    "The engineer finished her work.",
    "I met him when he was a lawyer.",
    "The doctor said to her",
    "He lives in the U.S.",
    "Where is the teacher?",
)

HOSTILE = (
    "",
    " \n\t ",
    "\0",
    "she\0he",
    "\uffff",
    "\U0010ffff \ufdd0",
    "\ud800 alone",
    "\x01\x1b[31mred\x07",
    "<script>alert('he')</script><img src=x onerror=alert(1)>",
    "^he<prn>$ [x] {y} \\ / @ * # ~ + [[t:b:1]]he[[/]]",
    "[0123456789abcdef-0] .[][x]",
    "first he\nthen she\r\n\nthe end",
    "😀 中文 עברית e\u0301 \u202ebidi\u202c \ufeff",
    "!?" * 500,
    "x" * 5_000,
    "\\",
    "$^" * 100,
)


def write_pair(folder: Path, command: str, pair: str = "en-es") -> Apertium:
    """A language pair of our own: one program instead of Apertium's."""
    (folder / "modes").mkdir(exist_ok=True)
    (folder / "modes" / f"{pair}.mode").write_text(command)
    source, target = pair.split("-")
    return Apertium(source=source, target=target, data=folder, timeout=5.0)


def python(folder: Path, body: str) -> str:
    """The command of a program that has one frame at a time in `frame`."""
    program = folder / "program.py"
    program.write_text(
        "import sys, time\nsource, out = sys.stdin.buffer, sys.stdout.buffer\nheld = b''\n"
        "while chunk := source.read1(65536):\n    held += chunk\n    while b'\\0' in held:\n"
        "        frame, held = held.split(b'\\0', 1)\n"
        + "".join(f"        {line}\n" for line in body.splitlines())
        + "        out.write(frame + b'\\0'); out.flush()\n"
    )
    return f"'{sys.executable}' '{program}'"


class TestRealApertium:
    pytestmark = installed

    @pytest.mark.parametrize(("source", "target", "mode"), [("en", "es", "eng-spa"), ("en", "eo", "en-eo")])
    def test_says_what_apertiums_own_command_says(self, source: str, target: str, mode: str) -> None:
        ours = outputs(Apertium(source=source, target=target), *SENTENCES)
        for text, output in zip(SENTENCES, ours, strict=True):
            done = subprocess.run(
                ["apertium", "-u", mode], input=text.encode(), capture_output=True, check=True
            )
            assert output == tidy(done.stdout.decode())

    def test_is_aligned_whatever_stands_between(self) -> None:
        service = Apertium(source="en", target="es")
        expected = outputs(service, "The nurse number seven works")[0]
        texts = [text for hostile in HOSTILE for text in (hostile, "The nurse number seven works")]
        answers = outputs(service, *texts)
        assert len(answers) == len(texts)
        assert answers[1::2] == [expected] * len(HOSTILE)
        assert all("\0" not in str(answer) for answer in answers)

    def test_blank_text_is_answered_by_nothing(self) -> None:
        assert outputs(Apertium(target="es"), "", "  \n", "\0\x01") == ["", "", ""]

    def test_markup_comes_back_as_text(self) -> None:
        answer = str(outputs(Apertium(target="eo"), "<b>He</b> & [x] {y} ^z$ \\ @ /")[0])
        assert answer == "<b>Li</b> & [x] {y} ^z$ \\ @ /"

    def test_lines_stay_lines(self) -> None:
        assert outputs(Apertium(target="eo"), "she\nhe") == ["ŝi\nli"]

    def test_keeps_its_answers_whatever_the_order(self) -> None:
        service = Apertium(target="ca")
        texts = [f"The teacher number {number} met her." for number in range(20)]
        assert outputs(service, *texts) == outputs(service, *reversed(texts))[::-1]

    def test_hundreds_of_kilobytes_are_answered_whole(self) -> None:
        long_word, sentences = "x" * 300_000, "The engineer finished her work. " * 3_200  # 100 kB
        answers = outputs(Apertium(target="eo"), long_word, "he", sentences)
        assert answers[0] == long_word
        assert answers[1] == "li"
        assert str(answers[2]).count("finis ŝian laboron.") == 3_200

    def test_is_quick_enough(self) -> None:
        texts = [f"She is a nurse. The engineer number {number} finished her work." for number in range(600)]
        began = time.perf_counter()
        assert len(outputs(Apertium(target="eo"), *texts)) == 600
        assert (
            1_200 / (time.perf_counter() - began) > 150
        )  # sentences a second; thousands when nothing else runs

    def test_knows_what_is_installed(self) -> None:
        assert set(Apertium().languages() or ()) >= WANTED
        assert "apertium-eo-en" in Apertium(target="eo").version()

    def test_codes_of_two_and_three_letters_are_one_service(self) -> None:
        assert (
            Apertium(source="eng", target="spa").fingerprint == Apertium(source="en", target="es").fingerprint
        )
        assert (
            Apertium(source="en", target="es").fingerprint != Apertium(source="es", target="en").fingerprint
        )

    def test_a_variant_is_a_direction_of_its_own(self) -> None:
        Apertium(target="ca_valencia").check_requirements()
        assert Apertium(target="ca_valencia").fingerprint != Apertium(target="ca").fingerprint

    def test_an_unknown_pair_names_the_nearest_installed_ones(self) -> None:
        with pytest.raises(MissingPartError, match=r"no direction en-tr here.*en-es") as result:
            Apertium(target="tr").check_requirements()
        assert "Choose" in result.value.do

    def test_an_absent_pair_names_its_package(self) -> None:
        if ("es", "pt") in set(Apertium().languages() or ()):
            pytest.skip("the pair es-pt is installed here")
        with pytest.raises(MissingPartError, match="apertium-es-pt"):
            Apertium(source="es", target="pt").check_requirements()


class TestWithoutApertium:
    def test_says_what_to_install(self, tmp_path: Path) -> None:
        with pytest.raises(MissingPartError, match=r"apt-get install .* apertium apertium-eng-spa"):
            Apertium(target="es", data=tmp_path).check_requirements()
        with pytest.raises(MissingPartError, match="not installed"):
            Apertium(target="es", data=tmp_path).open()

    def test_still_has_a_fingerprint(self, tmp_path: Path) -> None:
        assert len(Apertium(target="es", data=tmp_path).fingerprint) == 32
        assert Apertium(data=tmp_path).languages() == []

    def test_a_missing_program_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(MissingPartError, match='"no-such-proc"'):
            write_pair(tmp_path, "no-such-proc -g x.bin").check_requirements()

    def test_no_direction_is_a_fault_of_the_plan(self) -> None:
        with pytest.raises(PlanError, match="no target language"):
            Apertium().check_requirements()

    def test_the_fingerprint_follows_the_pairs_files(self, tmp_path: Path) -> None:
        data = tmp_path / "en-es.bin"
        data.write_bytes(b"one")
        first = write_pair(tmp_path, f"cat '{data}'").fingerprint
        data.write_bytes(b"two")
        # The mode file is written anew by every installation; the hash is kept as long as it stands.
        time.sleep(0.01)
        assert write_pair(tmp_path, f"cat '{data}'").fingerprint != first

    def test_named(self) -> None:
        assert (Apertium.named("en-es").source, Apertium.named("eng-spa").target) == ("en", "spa")
        with pytest.raises(ValueError, match="SOURCE-TARGET"):
            Apertium.named("spanish")

    @pytest.mark.parametrize(
        ("code", "expected"), [("eng", "en"), ("EN", "en"), ("ast", "ast"), ("cat_x", "ca_x")]
    )
    def test_codes(self, code: str, expected: str) -> None:
        assert canonical_code(code) == expected


class TestFaults:
    def test_a_pipeline_that_dies_is_started_anew(self, tmp_path: Path) -> None:
        service = write_pair(tmp_path, python(tmp_path, "if b'die' in frame: sys.exit(3)"))

        async def run() -> None:
            live = service.open()
            try:
                assert (await live.ask([Message("one")]))[0].output == "one"
                with pytest.raises(UnavailableError, match="ended"):
                    await live.ask([Message("two"), Message("die")])
                assert (await live.ask([Message("three")]))[0].output == "three"
            finally:
                await live.close()

        asyncio.run(run())

    def test_a_pipeline_that_hangs_is_killed_and_started_anew(self, tmp_path: Path) -> None:
        service = write_pair(tmp_path, python(tmp_path, "if b'hang' in frame: time.sleep(60)"))
        service = service.model_copy(update={"timeout": 0.5})

        async def run() -> None:
            live = service.open()
            try:
                began = time.monotonic()
                with pytest.raises(UnavailableError, match=r"within 0\.5 s") as result:
                    await live.ask([Message("hang")])
                assert result.value.timed_out
                assert time.monotonic() - began < 20
                assert (await live.ask([Message("next")]))[0].output == "next"
            finally:
                await live.close()

        asyncio.run(run())

    def test_an_answer_given_up_is_not_given_to_the_next_text(self, tmp_path: Path) -> None:
        service = write_pair(tmp_path, python(tmp_path, "if b'slow' in frame: time.sleep(1)"))

        async def run() -> None:
            live = service.open()
            try:
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.2):
                        await live.ask([Message("slow")])
                assert (await live.ask([Message("quick")]))[0].output == "quick"
            finally:
                await live.close()

        asyncio.run(run())

    def test_an_answer_out_of_place_is_noticed(self, tmp_path: Path) -> None:
        swaps = "if b'first' in frame: out.write(b'nothing\\0')"
        with pytest.raises(GarbledError, match="out of step with its input"):
            replies(write_pair(tmp_path, python(tmp_path, swaps)), "first", "second")

    def test_closing_twice_and_asking_again(self, tmp_path: Path) -> None:
        service = write_pair(tmp_path, "cat")

        async def run() -> None:
            live = service.open()
            await live.close()
            assert (await live.ask([Message("still there")]))[0].output == "still there"
            await live.close()
            await live.close()

        asyncio.run(run())


class TestFraming:
    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.text(max_size=60), min_size=1, max_size=5))
    def test_a_pipeline_that_changes_nothing_gives_back_every_text(self, texts: list[str]) -> None:
        pipeline = Pipeline("cat", [["cat"]])
        try:
            for text in texts:
                pieces = [piece for piece, _ in pieces_of(text)]
                answers = pipeline.translate(pieces, 10.0) if pieces else []
                assert [tidy(one) for one in answers] == [tidy(one) for one in pieces]
        finally:
            pipeline.close()

    def test_texts_larger_than_every_pipe_do_not_stop_it(self) -> None:
        pipeline = Pipeline("cat", [["cat"], ["cat"]])
        try:
            pieces = ["word " * 300 + str(number) for number in range(1_000)]  # 1.5 MB
            assert pipeline.translate(pieces, 20.0) == pieces
        finally:
            pipeline.close()

    def test_a_long_text_is_cut_after_sentences_then_words_then_anywhere(self) -> None:
        sentences = pieces_of("One two three. " * 500)
        assert all(piece.endswith(".") and len(piece) <= PIECE for piece, _ in sentences)
        assert all(len(piece) <= PIECE and " " in piece for piece, _ in pieces_of("word " * 2_000))
        assert "".join(piece + gap for piece, gap in pieces_of("x" * 4_500)) == "x" * 4_500
        assert "".join(piece + gap for piece, gap in pieces_of("word " * 2_000)) == ("word " * 2_000).strip()

    def test_a_program_that_is_not_there(self) -> None:
        with pytest.raises(MissingPartError, match="no-such-program"):
            Pipeline("test", [["cat"], ["no-such-program"]])

    @pytest.mark.parametrize(
        ("text", "expected"),
        [(" Es  una enfermera .  Sí", "Es una enfermera. Sí"), ("a .5 , b", "a .5, b"), ("x \n y", "x\ny")],
    )
    def test_tidy(self, text: str, expected: str) -> None:
        assert tidy(text) == expected


class TestHistory:
    pytestmark = installed

    def test_answers_do_not_hang_on_what_was_translated_before(self) -> None:
        # The tagger reads an unknown word differently the first time in its life it meets one.
        texts = ["É unha novelista. É un carpenter.", "O electrician acabou o seu traballo.", "É un potter."]
        service = Apertium(source="gl", target="en")
        forwards = outputs(service, *texts)
        backwards = outputs(service, *texts[::-1])[::-1]
        alone = [outputs(service, text)[0] for text in texts]
        assert forwards == backwards == alone
