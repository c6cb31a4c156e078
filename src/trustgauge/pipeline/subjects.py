"""What a plan asks of whom: every service, part and anchor of every experiment, with its probes.

Pure but for opening nothing and asking nothing: the same plan gives the same subjects and
probes on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
from pydantic import ValidationError

from trustgauge import plugins
from trustgauge.errors import Fault, MethodError, PlanError
from trustgauge.methods.method import Method
from trustgauge.plan import Plan, faults_of
from trustgauge.records import Anchor, Message, Task, digest
from trustgauge.services.compose import RoundTrip
from trustgauge.services.service import Description, Translator

CONTROL = "control "  # before the name of an anchor, so that a plan may rate one of its own beside it
VERIFIED = 5  # messages asked twice to verify that a service is deterministic (methods 0.3)


@dataclass(frozen=True, slots=True)
class Subject:
    """One part of one service (or one anchor) in one experiment."""

    experiment: int
    service: str
    part: str
    task: Task
    fingerprint: str
    deterministic: bool
    anchor: Anchor | None = None
    description: Description | None = None  # None when re-deriving: nothing is asked

    def facts(self) -> dict[str, Any]:
        """What the manifest keeps, enough to re-derive the rating without the service."""
        anchor = {"name": self.anchor.name, "truth": self.anchor.truth} if self.anchor else None
        return {
            "experiment": self.experiment,
            "service": self.service,
            "part": self.part,
            "task": self.task,
            "fingerprint": self.fingerprint,
            "deterministic": self.deterministic,
            "anchor": anchor,
        }

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Subject:
        """The subject as a manifest tells it."""
        anchor = facts["anchor"] and Anchor(facts["anchor"]["name"], {}, facts["anchor"]["truth"])
        return cls(**{**facts, "anchor": anchor})


def subjects(plan: Plan) -> list[Subject]:
    """All subjects of a plan, in plan order; the anchors of an experiment come after its services.

    Raises PlanError if a method cannot rate a service's task, or `only` names no part.
    """
    found: list[Subject] = []
    faults: list[Fault] = []
    for index, method in enumerate(methods(plan)):
        tasks: list[Task] = []
        for name in method.services:  # type: ignore[attr-defined]
            description = rated_form(plan.services[name])
            if description.task not in method.tasks:
                must = "a service that can " + " or ".join(method.tasks)
                place = f"experiments[{index}].services"
                faults.append(Fault(place, f'{method.name} cannot rate "{name}"', must, description.task))
                continue
            tasks += [] if description.task in tasks else [description.task]
            found += _parts(index, name, description)
        faults += _excluding(index, method, found)
        faults += _before(index, method, plan)
        for task in tasks:
            found += _anchors(index, method, task, suffix=f" ({task})" if len(tasks) > 1 else "")
    if plan.only:
        found = _only(found, plan.only, faults)
    if faults:
        raise PlanError(tuple(faults))
    return found


def _excluding(index: int, method: Method, found: list[Subject]) -> list[Fault]:
    """A fault for each part left out of a second overall level that no service has."""
    keys = {one.part for one in found if one.experiment == index and one.part}
    return [
        plugins.unknown(f"experiments[{index}].excluding", "part", word, tuple(sorted(keys)))
        for word in getattr(method, "excluding", ())
        if word not in keys
    ]


def _before(index: int, method: Method, plan: Plan) -> list[Fault]:
    """A fault for each comparison with a service that ends in another scorer (methods 2.10)."""
    faults = []
    for after, before in getattr(method, "before", {}).items():
        ends = {
            name: {part.legs()[-1].fingerprint for part in rated_form(plan.services[name]).parts().values()}
            for name in (after, before)
        }
        if ends[after] != ends[before]:
            place = f"experiments[{index}].before"
            what = f'"{after}" does not end in the scorer of "{before}"'
            faults.append(Fault(place, what, "the same scorer behind a round trip"))
    return faults


def methods(plan: Plan) -> list[Method]:
    """The experiments of a plan as methods, which is what their settings are."""
    return list(plan.experiments)  # type: ignore[arg-type]


def rated_form(description: Any) -> Description:
    """The service as it is rated: a translator of one direction through its round trip."""
    if isinstance(description, Translator) and description.target:
        settings = description.model_dump(exclude={"source", "target"}, exclude_unset=True)
        settings["use"] = description.use
        if hasattr(description, "folder"):  # of relative paths; known only where the plan was read
            settings["folder"] = description.folder
        return _round_trip(
            {
                "use": "round-trip",
                "source": description.source,
                "via": [description.target],
                "translator": settings,
            }
        )
    result: Description = description
    return result


def _round_trip(table: dict[str, Any]) -> RoundTrip:
    try:
        return RoundTrip.model_validate(table)
    except ValidationError as error:
        raise PlanError(tuple(faults_of(error, RoundTrip, "SERVICE"))) from None


def _parts(index: int, name: str, description: Description) -> list[Subject]:
    return [
        Subject(index, name, key, part.task, part.fingerprint, part.deterministic, None, part)
        for key, part in description.parts().items()
    ]


def _anchors(index: int, method: Method, task: Task, *, suffix: str) -> list[Subject]:
    found = []
    for anchor in method.anchors(task):
        settings = dict(anchor.settings)
        description = plugins.load("services", settings["use"]).model_validate(settings)
        found.append(
            Subject(
                index,
                CONTROL + anchor.name + suffix,
                "",
                task,
                description.fingerprint,
                description.deterministic,
                anchor,
                description,
            )
        )
    return found


def _only(found: list[Subject], only: tuple[str, ...], faults: list[Fault]) -> list[Subject]:
    """The subjects whose part or service is named, and the anchors."""
    keys = {one.part or one.service for one in found if one.anchor is None}
    names = keys | {one.service for one in found if one.anchor is None}
    for word in only:
        if word not in names:
            faults.append(plugins.unknown("only", "part", word, tuple(sorted(names))))
    return [one for one in found if one.anchor or one.part in only or one.service in only]


def design(plan: Plan, found: Iterable[Subject]) -> dict[tuple[int, Task], pl.DataFrame]:
    """The probes of every experiment and task, with the content key of each message."""
    frames = {}
    all_methods = methods(plan)
    for key in dict.fromkeys((one.experiment, one.task) for one in found):
        index, task = key
        frame = pl.concat(all_methods[index].design(experiment_seed(plan.seed, index), task))
        if frame.is_empty():
            raise MethodError(f"experiment {index} asks nothing", do="raise `texts`")
        keys = [message.key for message in messages(frame)]
        frames[key] = frame.with_columns(pl.Series("key", keys, dtype=pl.String))
    return frames


def experiment_seed(seed: int, index: int) -> int:
    """The seed of one experiment of a plan: equal experiments draw different texts (methods 0.3)."""
    return int(digest("experiment seed", [seed, index])[:15], 16)


def messages(frame: pl.DataFrame) -> list[Message]:
    """The messages of a probe frame, in order; the turns of a session know their script."""
    scripts: dict[str, tuple[str, ...]] = {}
    if frame["session"].str.len_bytes().sum():
        ordered = frame.filter(pl.col("session") != "").sort("session", "turn")
        grouped = ordered.group_by("session", maintain_order=True).agg("message")
        scripts = {session: tuple(turns) for session, turns in grouped.iter_rows()}
    return [
        Message(text, draw, session, script=scripts.get(session, ()))
        for text, draw, session in frame.select("message", "draw", "session").iter_rows()
    ]


def wanted(frame: pl.DataFrame, *, shared: bool) -> list[tuple[Message, ...]]:
    """The units to ask: single messages, or all turns of a session in order.

    A deterministic service is asked each message once, and a few twice to verify that it is.
    """
    units: dict[Any, list[Message]] = {}
    for number, message in enumerate(messages(frame)):
        if message.session:
            units.setdefault(("session", message.session, message.draw), []).append(message)
        elif shared:
            units.setdefault(message.text, [Message(message.text, 0)])
        else:
            units[number] = [message]
    singles = [tuple(unit) for unit in units.values()]
    if shared:
        singles += [(Message(unit[0].text, 1),) for unit in singles[:VERIFIED] if not unit[0].session]
    return singles
