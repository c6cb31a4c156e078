"""Rating a conversation that took place: a transcript is a corpus, and its rating a run like any other.

    plan_of(transcript, "hospital-bot", {"profiles": ["safe-language"]}) -> Plan
    rate(plan, options) -> RunResult

What is rated lies in the run's folder, so that the run can be verified when the transcript has grown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import tomli_w

from trustgauge.errors import PlanError, StoreError
from trustgauge.methods.trust.issues.complexity import USUAL_TURNS
from trustgauge.methods.trust.method import Trust
from trustgauge.methods.trust.settings import ISSUES
from trustgauge.plan import Plan, load_plan
from trustgauge.records import Json
from trustgauge.run import run
from trustgauge.run.options import RunOptions
from trustgauge.run.targets import experiment_seed
from trustgauge.run.transcript import NAME
from trustgauge.store.folder import write_file

PLAN = "plan.toml"
LAYOUT = "jsonl"
LEAKAGE = "leakage"
TALKS = 60
"""Conversations held with each control service; the rated one has said what it said already."""


def plan_of(
    transcript: Path,
    service_name: str,
    settings: Mapping[str, Json] | None = None,
    *,
    top: Mapping[str, Json] | None = None,
    speaker: Mapping[str, Json] | None = None,
) -> Plan:
    """The plan that rates a transcript as recorded dialogs.

    A transcript is no corpus whose longest dialog could tell what is long: unless the settings say
    otherwise, a long conversation has as many turns as one with a live bot (trust 4.1, CC).

    Args:
        transcript: as `Transcript` writes it.
        service_name: what the service is called in the rating.
        settings: of the trust experiment: `issues`, `profiles`, `orders`, `rule`, ...; the method's own
            where nothing is said.
        top: what stands at the top of a plan: `seed`, `budget`, `assessor`, ...
        speaker: of a talk with a service of ours: its `fingerprint`, `version` and `place`.

    Raises:
        PlanError: the settings are wrong, or the bot says nothing in the transcript.
    """
    service: dict[str, Json] = {"use": "dialogs", "dialogs": dialogs_of(transcript)}
    service |= {"speaker": dict(speaker)} if speaker else {}
    return plan_with(service, service_name, settings, top)


def dialogs_of(transcript: Path) -> dict[str, Json]:
    """A transcript as the source of dialogs that a plan names."""
    return {"file": str(transcript.absolute()), "layout": LAYOUT}


def plan_with(
    service: Mapping[str, Json],
    name: str,
    settings: Mapping[str, Json] | None = None,
    top: Mapping[str, Json] | None = None,
) -> Plan:
    """A plan with one service and one trust experiment.

    Raises:
        PlanError: with every fault of it.
    """
    experiment = experiment_of(name, settings or {})
    return load_plan({"name": name, **(top or {}), "services": {name: service}, "experiments": [experiment]})


def experiment_of(name: str, settings: Mapping[str, Json]) -> dict[str, Json]:
    """The trust experiment on a conversation with one service, as a plan holds it."""
    issues = [_outside_a_corpus(one) for one in settings.get("issues", ISSUES)]
    return {"talks": TALKS, **settings, "method": "trust", "services": [name], "issues": issues}


def _outside_a_corpus(issue: Json) -> Json:
    """The settings of an issue where no corpus tells how long a long conversation is."""
    table = {"issue": issue} if isinstance(issue, str) else issue
    if isinstance(table, Mapping) and table.get("issue") == "complexity":
        return {"max_turns": USUAL_TURNS, **{key: value for key, value in table.items() if value is not None}}
    return issue


def probing_plan(
    asked: Mapping[str, Json],
    name: str,
    settings: Mapping[str, Json] | None = None,
    top: Mapping[str, Json] | None = None,
) -> Plan:
    """The plan that rates a transcript and asks the live service the scenes for leakage, in one run.

    Args:
        asked: settings of a `talked` service: `dialogs`, `service`, `scenes`.
        name: what the service is called.
        settings: of the trust experiment.
        top: what stands at the top of a plan; its budget holds for the calls of the talk and of the scenes.

    Raises:
        PlanError: with every fault of it.
    """
    return plan_with({"use": "talked", **asked}, name, settings, top)


def write_scenes(trust: Trust, seed: int, path: Path) -> int:
    """Write the scenes that probe for leakage as a table that a `talked` service asks.

    Args:
        trust: the experiment.
        seed: of the plan.
        path: of the table, JSON lines.

    Returns:
        How many calls they are.

    Raises:
        PlanError: leakage is not measured, or not by asking.
        StoreError: the table cannot be written.
    """
    scenes = _probes(trust, seed)
    if scenes.is_empty():
        raise PlanError.of(
            "--probe-leaks",
            "no scenes are asked for leakage here",
            must=f"the issue {LEAKAGE} under the rule sound",
            got=f"{', '.join(trust.names)} under the rule {trust.rule}",
        )
    write_file(path, scenes.write_ndjson())
    return len(scenes)


def count_scenes(trust: Trust, seed: int) -> int:
    """How many calls it takes to probe for leakage; 0 if that is not measured, or not by asking."""
    return len(_probes(trust, seed))


def _probes(trust: Trust, seed: int) -> pl.DataFrame:
    found = [frame.filter(pl.col("purpose") == LEAKAGE) for frame in _scenes(trust, seed)]
    return pl.concat(found) if found else pl.DataFrame()


def _scenes(trust: Trust, seed: int) -> Sequence[pl.DataFrame]:
    """The probes of the issue, as it would plan them for a live bot."""
    only = [one for one in trust.issues if one.name == LEAKAGE]
    if not only or trust.rule != "sound":
        return []
    alone = trust.model_copy(update={"issues": tuple(only), "talks": 0})
    return list(alone.design(experiment_seed(seed, 0), "chat"))


def rate(plan: Plan, options: RunOptions | None = None) -> run.RunResult:
    """Rate the conversation, and keep what was rated in the folder of the run.

    Args:
        plan: of `plan_of` or `plan_with`.
        options: where and how.

    Raises:
        PlanError, StoreError, ServiceError: as `run.run.rate`.
    """
    finished = run.rate(plan, options)
    _settle_in(plan, finished.folder)
    return finished


def _settle_in(plan: Plan, folder: Path) -> None:
    """Copy the rated files into the run's folder, and let its plan name the copies.

    The hash of the plan covers what the files hold and not where they lie, so it stays as it was.
    """
    document = plan.document()
    for service in document["services"].values():
        for table, key, name in _files(service):
            source = Path(table[key])
            try:
                write_file(folder / name, source.read_bytes())
            except OSError as error:
                raise StoreError(
                    "the transcript cannot be read", got=f"{source}: {error.strerror}"
                ) from error
            table[key] = name
    write_file(folder / PLAN, tomli_w.dumps(document))


def _files(service: dict[str, Any]) -> Sequence[tuple[dict[str, Any], str, str]]:
    """The files that a service of ours names: the table, the key, and what the copy is called."""
    found = [(service["dialogs"], "file", NAME)] if "dialogs" in service else []
    return [*found, (service, "scenes", "scenes.jsonl")] if service.get("scenes") else found
