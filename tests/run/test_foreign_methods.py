"""Methods that somebody else wrote: whatever they say, a rating that cannot be true is not issued."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trustgauge import plugins
from trustgauge.cli.main import main
from trustgauge.errors import MethodError, PlanError
from trustgauge.plan import load_plan
from trustgauge.records import canonical
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate

ENTRIES = """[trustgauge.methods]
echoing = tests.methods.echoing:Echoing
overconfident = tests.methods.echoing:Overconfident
partial = tests.methods.echoing:Partial
failing = tests.methods.echoing:Failing

[trustgauge.services]
unsaid = tests.methods.echoing:Unsaid
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The methods of `tests.methods.echoing` as an installed package."""
    info = tmp_path / "site" / "echoing-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: echoing\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(str(info.parent))
    plugins._installed.cache_clear()
    yield
    monkeypatch.undo()
    plugins._installed.cache_clear()


MIRROR = {"use": "anchor", "behaviour": "identity"}


def rated_by(method: str, folder: Path, service: Any = MIRROR, **changes: Any) -> Any:
    experiment = {"method": method, "services": ["mirror"]}
    plan = load_plan({"seed": 7, "services": {"mirror": service}, "experiments": [experiment], **changes})
    return rate(plan, RunOptions(ratings=folder)).document["ratings"]


def test_a_sound_one_rates(tmp_path: Path) -> None:
    (rating,) = rated_by("echoing", tmp_path)
    assert (rating["overall"]["level"], rating["state"]) == ("keeps", "rated")


def test_a_certainty_above_one_is_not_issued(tmp_path: Path) -> None:
    with pytest.raises(
        MethodError, match=r'by "overconfident" of "mirror": a certainty is no share'
    ) as caught:
        rated_by("overconfident", tmp_path)
    assert caught.value.do == "Mend the method, or report it to its author"
    assert not list(tmp_path.glob("TG-*/rating.json"))


def rate_by_command(method: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> tuple[Any, list[str]]:
    """The exit code of `rate`, and the lines of stderr."""
    (folder / "plan.toml").write_text(
        '[services.mirror]\nuse = "anchor"\nbehaviour = "identity"\n'
        f'[[experiments]]\nmethod = "{method}"\nservices = ["mirror"]\n'
    )
    with pytest.raises(SystemExit) as ended:
        main(["rate", str(folder / "plan.toml"), "--ratings", str(folder / "ratings")])
    return ended.value.code, capfd.readouterr().err.splitlines()


def test_a_service_without_a_rating_is_not_passed_over(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, said = rate_by_command("partial", tmp_path, capfd)
    assert code == 2
    assert any('"partial" gives no rating of' in line for line in said)
    assert said[-1] == "exit 2: the run ended with an error; all received answers are saved"


def levels(rating: Any) -> set[Any]:
    return {one["level"] for one in (rating["overall"], *rating["parts"])}


def test_parts_of_its_own_have_no_level_where_one_answer_was_given_to_everything(tmp_path: Path) -> None:
    """The method names its parts by topics, and does not say which part of the service they are of."""
    (tmp_path / "same.py").write_text("def reply(text):\n    return 'page not found'\n")
    service = {"use": "function", "function": "same:reply", "folder": str(tmp_path)}
    (rating,) = rated_by("echoing", tmp_path, service)
    assert [one["key"] for one in rating["parts"]] == ["birds", "cats"]
    assert rating["state"] == "incomplete"
    assert levels(rating) == {None}
    assert {one["code"] for part in rating["parts"] for one in part["reasons"]} == {"same-answer"}


def test_parts_of_its_own_have_no_level_where_asking_was_stopped(tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text("def reply(text):\n    return text\n")
    service = {"use": "function", "function": "kept:reply", "folder": str(tmp_path)}
    (rating,) = rated_by("echoing", tmp_path, service, budget={"calls": 79})
    assert rating["state"] == "incomplete"
    assert levels(rating) == {None}
    assert {one["code"] for part in rating["parts"] for one in part["reasons"]} == {"not-finished"}


def test_an_error_in_a_method_names_its_package_and_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, said = rate_by_command("failing", tmp_path, capfd)
    assert code == 1
    (line,) = [line for line in said if line.startswith("error ")]
    assert re.search(r"ValueError: no ␛rating \(line \d+ of echoing\.py, package echoing\)", line)
    assert line.endswith("Run it again with -v and report it to its author.")


def test_an_error_in_a_service_names_its_line_and_not_its_text(tmp_path: Path) -> None:
    plan = load_plan(
        {
            "services": {"one": {"use": "unsaid"}},
            "experiments": [{"method": "echoing", "services": ["one"]}],
        }
    )
    run = rate(plan, RunOptions(ratings=tmp_path)).document["run"]
    (failure,) = run["failures"].values()
    assert re.search(r"Got KeyError in line \d+ of echoing\.py, package echoing\.", failure["error"])
    assert "secret" not in canonical(run)


def test_of_two_packages_with_one_name_neither_counts_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "other" / "rival-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rival\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[trustgauge.methods]\ntwo-step = tests.methods.echoing:Echoing\n")
    monkeypatch.syspath_prepend(str(info.parent))
    plugins._installed.cache_clear()
    with pytest.raises(PlanError) as caught:
        rated_by("two-step", tmp_path)
    (fault,) = caught.value.faults
    assert fault.what == 'several packages bring the method "two-step"'
    assert (fault.got, fault.do) == ("rival, trustgauge", "Rename it in one of them, or remove one")
    assert rated_by("echoing", tmp_path)[0]["state"] == "rated"
