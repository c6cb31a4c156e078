"""A `rating.json` that was changed by hand: shown, compared or told to be broken, never a crash."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.mutations import changed, damaged, fuzzed, odd_json, raises_only
from tests.reports import causal_fixtures, social_fixtures, trust_fixtures
from trustgauge import plugins
from trustgauge.catalogue import entries, explaining_errors, read
from trustgauge.errors import StoreError, TrustgaugeError
from trustgauge.plan import load_plan
from trustgauge.reports import terminal
from trustgauge.reports.document import document
from trustgauge.reports.document_model import misfit
from trustgauge.run.comparison import ComparisonQuery, compare
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate
from trustgauge.run.verify import verify

TODAY = date(2026, 12, 1)
PLAN = {
    "services": {"a": {"use": "anchor", "behaviour": "coin"}, "b": {"use": "anchor", "behaviour": "swap"}},
    "experiments": [{"method": "two-step", "services": ["a", "b"], "texts": 20, "draws": 1000}],
}
VIEWS = ("json", "markdown", "csv", "badge", "jsonld", "html", "label", "shields")
DATED = ("html", "label", "badge", "shields")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a real run."""
    return rate(load_plan(PLAN), RunOptions(ratings=tmp_path_factory.mktemp("ratings"))).folder


@cache
def documents() -> Mapping[str, Any]:
    """A document of every other method."""
    causal, social = causal_fixtures.all_kinds(), social_fixtures.all_states()
    return {
        "causal": document(causal_fixtures.run([causal]), [causal]),
        "social-bias": document(social_fixtures.run([social]), [social]),
        "trust": trust_fixtures.document_of(
            trust_fixtures.rating("HR", trust_fixtures.PAPER["HR"], "safe-language")
        ),
    }


def view(folder: Path) -> None:
    """Everything that is made of a rating.json alone."""
    found = read(folder)
    list(entries(folder.parent))
    with explaining_errors(folder):
        terminal.show(found)
        terminal.result(found)
    one = {**found, "ratings": found["ratings"][:1]}  # a label is of one rating
    for form in VIEWS:
        more = {"today": TODAY} if form in DATED else {}
        with explaining_errors(folder):
            assert isinstance(plugins.load("exports", form)(one, None, **more), bytes)


def written(run: Path, at: Path, content: bytes) -> Path:
    """A copy of the run with another rating.json."""
    folder = at / run.name
    if not folder.exists():
        shutil.copytree(run, folder)
    (folder / "rating.json").write_bytes(content)
    return folder


def as_bytes(value: Any) -> bytes:
    return json.dumps(value).encode("ascii")


def test_documents_of_every_method_fit_their_schema(run: Path, tmp_path: Path) -> None:
    for found in (read(run), *documents().values()):
        assert misfit(found) == ""
        view(written(run, tmp_path, as_bytes(found)))


@pytest.mark.parametrize("method", ["two-step", "causal", "social-bias", "trust"])
def test_changed_documents_are_shown_or_refused(run: Path, tmp_path: Path, method: str) -> None:
    whole = read(run) if method == "two-step" else json.loads(as_bytes(documents()[method]))

    @fuzzed
    @given(value=changed(whole))
    def holds(value: Any) -> None:
        folder = written(run, tmp_path, as_bytes(value))
        with raises_only(TrustgaugeError):
            view(folder)

    holds()


@fuzzed
@given(value=odd_json)
def test_any_json_is_refused(tmp_path_factory: pytest.TempPathFactory, run: Path, value: Any) -> None:
    folder = written(run, tmp_path_factory.getbasetemp() / "any", as_bytes(value))
    with pytest.raises(StoreError, match="is broken"):
        read(folder)


def test_damaged_bytes_are_refused_or_shown(run: Path, tmp_path: Path) -> None:
    whole = (run / "rating.json").read_bytes()

    @fuzzed
    @given(data=damaged(whole))
    def holds(data: bytes) -> None:
        folder = written(run, tmp_path, data)
        with raises_only(TrustgaugeError):
            view(folder)

    holds()


def test_changed_documents_are_compared_and_verified_or_refused(run: Path, tmp_path: Path) -> None:
    """Comparing looks for details in the run's folder too; a broken run must not hide the others."""
    whole = read(run)
    beside, other = tmp_path / "ratings", "TG-2026-0101-600d"
    shutil.copytree(run, beside / other)
    (beside / other / "rating.json").write_bytes(as_bytes(whole).replace(run.name.encode(), other.encode()))

    @settings(fuzzed, max_examples=max(10, fuzzed.max_examples // 3))
    @given(data=st.one_of(changed(whole).map(as_bytes), damaged(as_bytes(whole))))
    def holds(data: bytes) -> None:
        folder = written(run, beside, data)
        with raises_only(TrustgaugeError):
            verify(folder, TODAY)
        with raises_only(TrustgaugeError):
            compare(beside, ComparisonQuery((), "", (), tmp_path), TODAY)
        assert len([one for one in entries(beside) if one.folder.name == other]) == 2

    holds()


MANIFEST = st.dictionaries(
    st.sampled_from(("subjects", "judges", "services", "seconds", "plan", "id", "fresh", "began")), odd_json
)


def test_changed_manifests_are_read_or_refused(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / run.name
    shutil.copytree(run, folder)
    whole = json.loads((run / "manifest.json").read_bytes())

    @settings(fuzzed, max_examples=max(10, fuzzed.max_examples // 3))
    @given(value=st.one_of(changed(whole), MANIFEST.map(lambda odd: {**whole, **odd})))
    def holds(value: Any) -> None:
        (folder / "manifest.json").write_bytes(as_bytes(value))
        with raises_only(TrustgaugeError):
            verify(folder, TODAY)
        with raises_only(TrustgaugeError):
            compare(tmp_path, ComparisonQuery((), "", (), tmp_path), TODAY)

    holds()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"run": {"id": "x"}, "ratings": []}', "schema is missing"),
        (b"[" * 100_000, "without end"),
        (b"[]", "the document is not an object"),
        (b'{"schema": 7, "run": {}, "ratings": []}', "schema: input should be"),
        (b"\xff\xfe\x00", "codec"),
        (b"", "Expecting value"),
    ],
)
def test_what_broke_views_before(run: Path, tmp_path: Path, content: bytes, said: str) -> None:
    """Each ended in an internal error of `show`, `compare` or `list` once."""
    with pytest.raises(StoreError, match=said):
        read(written(run, tmp_path, content))


def test_a_folder_in_the_place_of_a_rating_is_told(run: Path, tmp_path: Path) -> None:
    folder = written(run, tmp_path, b"")
    (folder / "rating.json").unlink()
    (folder / "rating.json").mkdir()
    with pytest.raises(StoreError, match="cannot be read"):
        read(folder)


def test_a_control_that_became_a_service_is_refused(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / run.name
    shutil.copytree(run, folder)
    manifest = json.loads((run / "manifest.json").read_bytes())
    control = next(facts for facts in manifest["subjects"] if facts["anchor"])
    control["anchor"] = None
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(StoreError, match="does not fit its plan"):
        verify(folder, TODAY)
