"""The npm sentiment packages, as they are installed for Node.js in this checkout."""

from __future__ import annotations

import json
import pickle
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.services.asking import outputs
from trustgauge import plugins
from trustgauge.errors import MissingPartError, RejectedError, UnavailableError
from trustgauge.records import Message
from trustgauge.services.conformance import check_service
from trustgauge.services.npm import VARIABLE, Natural, NlpJs

ROOT = Path(__file__).parents[2]


def absent() -> str:
    """Why the packages cannot be asked here, "" if they can."""
    try:
        for service in (NlpJs(folder=ROOT), Natural(folder=ROOT)):
            service.check_requirements()
    except MissingPartError as error:
        return str(error)
    return ""


installed = pytest.mark.skipif(bool(absent()), reason=absent() or "installed")

WOMAN, MAN = "this woman", "this man"


def nlp_js(**settings: Any) -> NlpJs:
    return NlpJs.model_validate({"folder": ROOT, **settings})


def natural(**settings: Any) -> Natural:
    return Natural.model_validate({"folder": ROOT, **settings})


def by_node(program: str) -> Any:
    """What a few lines of JavaScript print as JSON, run beside the packages: an independent way to them."""
    done = subprocess.run(["node", "-e", program], cwd=ROOT, capture_output=True, check=True, timeout=60)
    return json.loads(done.stdout.splitlines()[-1])


FOOD = "I did not like the terrible food, though my happy daughter did."


@cache
def said_by_natural() -> Any:
    """What the package says of a text by each vocabulary and stemmer, asked in one go."""
    return by_node(
        "const n = require('natural'); const stems = {porter: n.PorterStemmer}; const found = {};"
        f"const words = new n.WordTokenizer().tokenize({json.dumps(FOOD)});"
        "for (const name of ['senticon', 'afinn', 'pattern']) for (const stem of ['porter', 'none'])"
        " found[`${name} ${stem}`] = new n.SentimentAnalyzer('English', stems[stem], name)"
        ".getSentiment([...words]); console.log(JSON.stringify(found));"
    )


@installed
class TestNlpJs:
    def test_a_woman_scores_half_a_point_less_than_a_man(self) -> None:
        # The published figure is of the sum: twice the mean over two words.
        woman, man = (float(one) for one in outputs(nlp_js(), WOMAN, MAN))
        assert (woman, man) == (-0.125, 0.125)
        assert 2 * (woman - man) == -0.5

    def test_is_what_the_package_says(self) -> None:
        texts = [
            "This woman feels grim.",
            "The situation makes this boy feel happy.",
            "Not a good day, is it?",
        ]
        result = by_node(
            "const {Container}=require('@nlpjs/core');const {SentimentAnalyzer}=require('@nlpjs/sentiment');"
            "const {LangEn}=require('@nlpjs/lang-en');const c=new Container();c.use(LangEn);"
            "const ask=text=>new SentimentAnalyzer({container:c}).process({locale:'en',text});"
            f"Promise.all({json.dumps(texts)}.map(ask))"
            ".then(all=>console.log(JSON.stringify(all.map(one=>one.sentiment))))"
        )
        assert len(result) == len(texts)
        assert outputs(nlp_js(), *texts) == [one["average"] for one in result]
        sums = [one["score"] / (1 + abs(one["score"])) for one in result]
        assert outputs(nlp_js(score="sum"), *texts) == sums

    def test_known_is_the_mean_over_the_words_that_have_a_value(self) -> None:
        text, longer = "good sister", "good sister of the house by the river"
        good, sister = (float(one) for one in outputs(nlp_js(), "good", "sister"))
        assert good != sister
        assert outputs(nlp_js(score="known"), text) == [pytest.approx((good + sister) / 2)]
        assert outputs(nlp_js(score="known"), "not good") == [-good]  # the negation has no value of its own
        short, long = (float(one) for one in outputs(nlp_js(), text, longer))
        assert abs(long) < abs(short)

    def test_a_word_that_every_object_has_is_rejected_and_the_next_text_is_answered(self) -> None:
        with pytest.raises(RejectedError, match="no number"):
            outputs(nlp_js(), "The constructor is good.")
        assert outputs(nlp_js(), "good") != [0.0]

    def test_race_is_told_by_names_that_the_lexicon_holds(self) -> None:
        adam, alonzo = outputs(nlp_js(score="known"), "Adam feels happy", "Alonzo feels happy")
        assert float(alonzo) - float(adam) > 0.3


@installed
class TestNatural:
    def test_a_woman_scores_less_than_a_man_by_stems_and_the_same_without(self) -> None:
        assert outputs(natural(), WOMAN, MAN) == [-0.125, 0.125]
        assert outputs(natural(stemmer="none"), WOMAN, MAN) == [0.0, 0.0]

    @pytest.mark.parametrize("stemmer", ["porter", "none"])
    @pytest.mark.parametrize(("vocabulary", "largest"), [("senticon", 1), ("afinn", 5), ("pattern", 1)])
    def test_is_what_the_package_says(self, vocabulary: str, largest: int, stemmer: str) -> None:
        result = said_by_natural()[f"{vocabulary} {stemmer}"]
        assert result != 0
        assert outputs(natural(vocabulary=vocabulary, stemmer=stemmer), FOOD) == [result / largest]

    def test_known_is_the_mean_over_the_words_that_have_a_value(self) -> None:
        service = natural(score="known", vocabulary="afinn", stemmer="none")
        assert outputs(service, "good", "good bad table", "a table") == [3 / 5, 0.0, 0.0]
        assert outputs(service, "good breathtaking table by the door") == [pytest.approx((3 + 5) / 2 / 5)]

    def test_neither_reads_nor_tells_the_env_file_of_its_folder(self, tmp_path: Path) -> None:
        # The package's own index loads .env and prints a line about it, which would break the talk.
        (tmp_path / ".env").write_text("PLANTED=4711\n")
        (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
        assert outputs(natural(folder=tmp_path), "good") != [0.0]

    def test_its_lexicons_are_short_forms(self) -> None:
        assert Natural.named("afinn").vocabulary == "afinn"
        assert Natural.named("").vocabulary == "senticon"
        with pytest.raises(ValueError, match="one of: senticon, afinn, pattern"):
            Natural.named("vader")


BOTH = [pytest.param(nlp_js, id="nlp-js"), pytest.param(natural, id="natural")]


@installed
@pytest.mark.parametrize("service", BOTH)
class TestBoth:
    def test_keeps_the_protocol(self, service: Any) -> None:
        check_service(service(), [Message("This woman feels grim."), Message("He is glad."), Message(MAN)])

    @pytest.mark.parametrize("score", ["average", "known", "sum"])
    def test_scores_have_the_sign_of_the_words_and_stay_in_range(self, service: Any, score: str) -> None:
        texts = [
            "wonderful and great",
            "terrible and horrible",
            "",
            "12 34",
            "good " * 300,
            "horrible " * 300,
        ]
        good, bad, empty, numbers, much, little = (
            float(one) for one in outputs(service(score=score), *texts)
        )
        assert 1 >= good > 0 > bad >= -1
        assert (empty, numbers) == (0.0, 0.0)
        assert 1 >= much > 0 > little >= -1

    def test_versions_of_the_packages_belong_to_the_fingerprint(self, service: Any) -> None:
        one = service()
        versions = dict(one.identity()["versions"])
        assert one.version() == versions[one.packages[0]]
        assert all(version[:1].isdigit() for version in versions.values())
        assert one.fingerprint != service(score="known").fingerprint
        assert "folder" not in one.identity()
        assert str(ROOT) not in json.dumps(one.identity())
        assert pickle.loads(pickle.dumps(one)) == one

    def test_is_found_from_a_plan_below_and_by_setting_and_by_variable(
        self, service: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expected = service().fingerprint
        assert service(folder=ROOT / "plans").fingerprint == expected
        for home in (ROOT, ROOT / "node_modules"):
            assert service(folder=tmp_path, modules=home).fingerprint == expected
        with pytest.raises(MissingPartError):
            service(folder=tmp_path).check_requirements()
        monkeypatch.setenv(VARIABLE, str(ROOT / "node_modules"))
        assert service(folder=tmp_path).fingerprint == expected
        service(folder=tmp_path).check_requirements()


@pytest.mark.parametrize("service", BOTH)
class TestMissing:
    def test_packages_are_told_with_the_command_that_installs_them(
        self, service: Any, tmp_path: Path
    ) -> None:
        one = service(modules=tmp_path)
        if not absent():
            with pytest.raises(MissingPartError, match=f"npm install {one.packages[0]}") as result:
                one.open()
            assert str(tmp_path / "node_modules") in str(result.value)
        assert one.version() == ""

    def test_node_itself_is_told(self, service: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(
            MissingPartError, match=r'"node" is not found.*Install Node\.js, then run `npm install'
        ):
            service().check_requirements()

    def test_a_package_file_that_is_broken_counts_as_absent(self, service: Any, tmp_path: Path) -> None:
        one = service(modules=tmp_path)
        for each in ("{", "[]", '{"version": 3}', "\ufeff"):
            for name in one.packages:
                file = tmp_path / "node_modules" / name / "package.json"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(each)
            assert one.version() == ""


@installed
def test_a_package_that_does_not_load_is_told_with_its_last_words(tmp_path: Path) -> None:
    for name in NlpJs.packages:
        folder = tmp_path / "node_modules" / name
        folder.mkdir(parents=True)
        (folder / "package.json").write_text('{"version": "9.9.9", "main": "gone.js"}')
    with pytest.raises(UnavailableError, match="ended with code 1"):
        outputs(nlp_js(modules=tmp_path), "good")


def test_settings_are_checked() -> None:
    with pytest.raises(ValidationError, match="'senticon', 'afinn' or 'pattern'"):
        natural(vocabulary="vader")
    with pytest.raises(ValidationError, match="'average', 'known' or 'sum'"):
        nlp_js(score="total")
    assert (plugins.load("services", "nlp-js"), plugins.load("services", "natural")) == (NlpJs, Natural)
