"""Expands a plan into targets: every service, part and control of every experiment, with its probes.

Pure: it opens nothing and sends nothing; the same plan gives the same targets and probes on every
machine.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import ValidationError

from trustgauge import plugins
from trustgauge.errors import Fault, MethodError, PlanError, StoreError, raise_faults
from trustgauge.methods import (
    BeforeAfterComparer,
    LogRater,
    LookUser,
    Method,
    OneWayRater,
    PartExcluder,
    SeedUser,
    method_fault,
)
from trustgauge.plan import Plan
from trustgauge.records import Control, Message, Task, digest
from trustgauge.run.probe_batches import (
    AGAIN,
    BATCH_ROWS,
    RETEST_LAG,
    ExperimentTask,
    ProbeBatches,
    Probes,
    batches_of,
    shuffle,
    with_segments,
)
from trustgauge.services import Recording, RoundTripParts, ServiceSpec, TranslatorSpec
from trustgauge.stats import stream

CONTROL = "control "  # before the name of a control, so that a plan may rate one of its own beside it
REPEATED = 5  # messages asked twice to verify that a service is deterministic (methods 0.3)
ONLY = "only"
"""Column of probe frames that logs have rows in: the log whose row it is, "" for those that all others are
asked. Without it all rows are for everybody."""
PART = "of_part"
"""Column of probe frames that logs of several parts have rows in: the part whose row it is."""
LOOK = "look"
"""Column of probe frames that are asked in looks: the look at which a row is asked, from 1 (methods 0.11)."""
_SPOKEN = ("user", "talk")
_FACTS: Mapping[str, type] = {
    **{"experiment": int, "service": str, "part": str, "task": str, "fingerprint": str, "deterministic": bool}
}
_FURTHER: Mapping[str, type] = {"look": int, "translated": bool, "one_way": bool}  # where they say something


def target_title(service: str, part: str) -> str:
    """What a part of a service is called on screens: by both, or by the service alone if it has no parts."""
    return f"{service} {part}".strip()


@dataclass(frozen=True, slots=True)
class Target:
    """One part of one service (or one control) in one experiment."""

    experiment: int
    service: str
    part: str
    task: Task
    fingerprint: str
    deterministic: bool
    control: Control | None = None
    description: ServiceSpec | None = None  # None when re-deriving: nothing is asked
    look: int = 0  # up to which its probes are asked and rated; 0 for all of them (methods 0.11)
    by_hand: bool = False  # people brought its answers; they are not asked a second time
    translated: bool = False  # a text on its way should be in another language than the text that is sent
    one_way: bool = False  # what comes back should be

    @property
    def title(self) -> str:
        """What the part is called on screens."""
        return target_title(self.service, self.part)

    @property
    def judge_title(self) -> str:
        """What a second judge is called on screens."""
        return f"judge {self.service}"

    def facts(self) -> dict[str, Any]:
        """What the manifest keeps, enough to re-derive the rating without the service."""
        known = self.control
        control = {"name": known.name, "truth": known.truth, "part": known.part} if known else None
        further = {name: value for name in _FURTHER if (value := getattr(self, name))}
        return {**{name: getattr(self, name) for name in _FACTS}, "anchor": control, **further}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Target:
        """The subject as a manifest tells it. Raises StoreError if these are no facts of one."""
        named = facts.get("anchor") if isinstance(facts, Mapping) else None
        fits = isinstance(facts, Mapping) and all(
            isinstance(facts.get(name), kind) for name, kind in _FACTS.items()
        )
        if named is not None:
            known = named if isinstance(named, Mapping) else {"name": None}
            fits = fits and all(isinstance(known.get(name, ""), str) for name in ("name", "truth", "part"))
        fits = fits and all(isinstance(facts[name], kind) for name, kind in _FURTHER.items() if name in facts)
        if not fits or facts.keys() - _FACTS.keys() - _FURTHER.keys() != {"anchor"}:
            must = "subjects with " + ", ".join((*_FACTS, "anchor"))
            raise StoreError("the manifest of the run is damaged", must=must, do="restore it")
        control = named and Control(named.get("name", ""), {}, named.get("truth", ""), named.get("part", ""))
        own = {name: facts[name] for name in _FACTS}
        further = {name: facts[name] for name in _FURTHER if name in facts}
        return cls(**own, control=control or None, **further)


def plan_targets(plan: Plan) -> list[Target]:
    """All subjects of a plan, in plan order; the controls of an experiment come after its services.

    Raises PlanError if a method cannot rate a service's task, or `only` names no part.
    """
    found: list[Target] = []
    faults: list[Fault] = []
    for index, method in enumerate(methods(plan)):
        tasks: list[Task] = []
        for name in method.services:  # type: ignore[attr-defined]
            one_way = method if isinstance(method, OneWayRater) and method.one_way else None
            description = rateable_service(
                plan.services[name], there_and_back=not one_way, place=f"services.{name}"
            )
            if one_way and (fault := _one_way_fault(index, name, description, one_way)):
                faults.append(fault)
                continue
            if description.task not in method.tasks:
                must = "a service that can " + " or ".join(method.tasks)
                place, what = f"experiments[{index}].services", f'{method.name} cannot rate "{name}"'
                do = f'If it can, set `task = "{method.tasks[0]}"` for it' if _names_task(description) else ""
                faults.append(Fault(place, what, must, description.task, do))
                continue
            if _is_log(description) and not isinstance(method, LogRater):
                place, what = f"experiments[{index}].services", f'{method.name} cannot rate "{name}"'
                faults.append(Fault(place, what, "a service that can be asked its questions", "a log"))
                continue
            tasks += [] if description.task in tasks else [description.task]
            found += _parts(index, name, description)
        faults += _excluding(index, method, found)
        faults += _before(index, method, plan)
        for task in tasks:
            found += _controls(index, method, task, suffix=f" ({task})" if len(tasks) > 1 else "")
    faults += _same_answers(found)
    if plan.only:
        found = _only(found, plan.only, faults)
    raise_faults(faults)
    return found


def _names_task(description: ServiceSpec) -> bool:
    """Whether the plan says what a service does, and so may have said it wrong or left it out."""
    return "task" in type(description).model_fields


def _same_answers(found: Iterable[Target]) -> list[Fault]:
    """A fault for each service with the fingerprint of another one whose code stands elsewhere."""
    known: dict[str, tuple[str, Any]] = {}
    faults: dict[str, Fault] = {}
    for target in found:
        for stage in target.description.stages() if target.description is not None else ():
            code = stage.model_dump(include=set(stage.CODE_PLACE))
            other, its = known.setdefault(stage.fingerprint, (target.service, code))
            if its != code:
                place, what = f"services.{target.service}", f'its code is taken for that of "{other}"'
                must = "a `revision` of its own, as folders are no part of what tells services apart"
                faults[target.service] = Fault(place, what, must, do="Set `revision` in both")
    return list(faults.values())


def _excluding(index: int, method: Method, found: list[Target]) -> list[Fault]:
    """A fault for each part left out of a second overall level that no service has."""
    keys = {one.part for one in found if one.experiment == index and one.part}
    return [
        plugins.unknown(f"experiments[{index}].excluding", "part", word, tuple(sorted(keys)))
        for word in (method.excluding if isinstance(method, PartExcluder) else ())
        if word not in keys
    ]


def _before(index: int, method: Method, plan: Plan) -> list[Fault]:
    """A fault for each comparison with a service that ends in another scorer (causal 2.10)."""
    faults = []
    compared = method.before if isinstance(method, BeforeAfterComparer) else {}
    for after, before in compared.items():
        ends = {
            name: {
                part.stages()[-1].fingerprint
                for part in rateable_service(plan.services[name]).parts().values()
            }
            for name in (after, before)
        }
        if ends[after] != ends[before]:
            place = f"experiments[{index}].before"
            what = f'"{after}" does not end in the scorer of "{before}"'
            faults.append(Fault(place, what, "the same scorer behind a round trip"))
    return faults


def methods(plan: Plan) -> list[Method]:
    """The experiments of a plan as methods, which is what their settings are.

    Raises PlanError if a plug-in lacks something that every method has.
    """
    faults = [
        method_fault(type(one), one.method, f"experiments[{index}].method")  # type: ignore[attr-defined]
        for index, one in enumerate(plan.experiments)
    ]
    if any(faults):
        raise PlanError(tuple(filter(None, faults)))
    found: list[Method] = list(plan.experiments)  # type: ignore[arg-type]
    return [
        one.with_seed(experiment_seed(plan.seed, index)) if isinstance(one, SeedUser) else one
        for index, one in enumerate(found)
    ]


def _one_way_fault(index: int, name: str, service: ServiceSpec, method: OneWayRater) -> Fault | None:
    """Why a service is no translator into a language, where its translations are read (two-step 1.11)."""
    from trustgauge.services.languages import short  # only plans that ask for it

    language, source = method.one_way, method.source
    must = f'a translator into {language}: a service with `target = "{language}"`'
    place, what = f"experiments[{index}].services", f'"{name}" does not translate into {language}'
    if service.task != "translate":
        return Fault(place, what, must, service.task)
    if isinstance(service, RoundTripParts) and not isinstance(service, Recording):
        return Fault(place, what, must, "there and back")
    if isinstance(service, TranslatorSpec) and short(service.target).partition("-")[0] != language:
        return Fault(place, what, must, service.target or "no `target`")
    if source and isinstance(service, Recording):
        return Fault(
            place, "recorded texts do not say whose work is usual", "a service that can be asked", "records"
        )
    if source and isinstance(service, TranslatorSpec) and short(service.source).partition("-")[0] != source:
        what, must = f'"{name}" does not translate from {source}', f'a service with `source = "{source}"`'
        return Fault(place, what, must, service.source)
    if isinstance(service, Recording) and any(part not in ("", language) for part in service.parts()):
        got = ", ".join(service.parts())
        return Fault(
            place, what, f"records of one language, {language}", got, f'Set `language = "{language}"`'
        )
    return None


def rateable_service(description: Any, *, there_and_back: bool = True, place: str = "SERVICE") -> ServiceSpec:
    """The service as it is rated: a translator of one direction through its round trip.

    Args:
        description: the service of the plan.
        there_and_back: whether translations are read after the way back; else as they come out.
        place: what a fault names as its place.
    """
    if there_and_back and isinstance(description, TranslatorSpec) and description.target:
        settings = description.model_dump(exclude={"source", "target"}, exclude_unset=True)
        settings["use"] = description.use
        if isinstance(description.folder, Path):
            # of relative paths; known only where the plan was read
            settings["folder"] = description.folder
        return _round_trip(
            {
                "use": "round-trip",
                "source": description.source,
                "via": [description.target],
                "translator": settings,
            },
            place,
        )
    result: ServiceSpec = description
    return result


def _round_trip(table: dict[str, Any], place: str) -> ServiceSpec:
    from trustgauge.services.compose import RoundTrip  # only for plans that need it

    try:
        return RoundTrip.model_validate(table)
    except ValidationError as error:
        from trustgauge.plan_faults import faults_of  # only a fault needs it

        raise PlanError(tuple(faults_of(error, RoundTrip, place))) from None


def _parts(index: int, name: str, description: ServiceSpec) -> list[Target]:
    return [
        Target(
            *(index, name, key, part.task, part.fingerprint, part.deterministic, None, part),
            translated=_passes_another_language(part),
            one_way=isinstance(part, TranslatorSpec) and _leads_elsewhere([part]),
        )
        for key, part in description.parts().items()
    ]


def _passes_another_language(part: ServiceSpec) -> bool:
    """Whether a translation is on the way to the text that comes back; not where it is what comes back."""
    if part.task != "translate":
        return False
    return isinstance(part, RoundTripParts) or _leads_elsewhere(part.stages()[:-1])


def _leads_elsewhere(stages: Sequence[ServiceSpec]) -> bool:
    """Whether one of some services translates into another language."""
    translators = [one for one in stages if isinstance(one, TranslatorSpec) and one.target]
    if not translators:
        return False
    from trustgauge.services.languages import short  # most plans have no translator

    return any(short(one.source) != short(one.target) for one in translators)


def _controls(index: int, method: Method, task: Task, *, suffix: str) -> list[Target]:
    found = []
    for control in method.controls(task):
        settings = dict(control.settings)
        description = plugins.load("services", settings["use"]).model_validate(settings)
        found.append(
            Target(
                index,
                CONTROL + control.name + suffix,
                "",
                task,
                description.fingerprint,
                description.deterministic,
                control,
                description,
            )
        )
    return found


def _only(found: list[Target], only: tuple[str, ...], faults: list[Fault]) -> list[Target]:
    """The subjects whose part or service is named, and the controls."""
    keys = {one.part or one.service for one in found if one.control is None}
    names = keys | {one.service for one in found if one.control is None}
    for word in only:
        if word not in names:
            faults.append(plugins.unknown("only", "part", word, tuple(sorted(names))))
    return [one for one in found if one.control or one.part in only or one.service in only]


def _is_log(description: ServiceSpec) -> bool:
    """Whether a service brings its own probes; tells it without reading them."""
    return type(description).script is not ServiceSpec.script


def design(plan: Plan, found: Iterable[Target], rows: int = BATCH_ROWS) -> ProbeBatches:
    """The probes of every experiment and task in the order they are sent, with the key of each message.

    The order is drawn from seed and experiment, and given by the column `segment` (see `slices`); logs keep
    the order in which they were recorded.

    Logs bring probes of their own, marked in the column `ONLY`; the method's are planned where there is
    anybody else to ask.

    Args:
        plan: as loaded.
        found: who is asked.
        rows: probes of a slice; the probes of logs are one slice.
    """
    slices = ProbeBatches(rows)
    all_methods = methods(plan)
    targets = tuple(found)
    for key in dict.fromkeys((one.experiment, one.task) for one in targets):
        index, task = key
        if not 0 <= index < len(all_methods) or task not in all_methods[index].tasks:
            must, got = f"{len(all_methods)} experiments, as its plan", f"experiment {index}, {task}"
            raise StoreError(
                "the manifest of the run does not fit its plan", must=must, got=got, do="restore it"
            )
        asked = [one for one in targets if (one.experiment, one.task) == key]
        strange = [one.service for one in asked if one.control is None and one.service not in plan.services]
        if strange:
            must, got = "services of its plan", f'"{strange[0]}"'
            raise StoreError(
                "the manifest of the run does not fit its plan", must=must, got=got, do="restore it"
            )
        logs = _logs(plan, asked, all_methods[index])
        own_seed = experiment_seed(plan.seed, index)
        order = stream(own_seed, "order", task)
        frames = all_methods[index].design(own_seed, task)
        if logs:
            live = any(one.control or one.service not in logs for one in asked)
            mine = [shuffle(pl.concat(frames), order, plan.retest)] if live else []
            named = [one.with_columns(pl.lit("").alias(ONLY)) for one in mine]
            whole = pl.concat([*named, *logs.values()], how="diagonal")
            count = slices.add(key, [whole], _with_keys, whole=True)
        else:
            looks = looks_of(all_methods[index])
            finish = partial(_in_looks, all_methods[index]) if looks else _with_keys
            count = slices.add(key, frames, finish, order=order, retest=plan.retest)
            if looks and slices.count(key) > 1:
                must = f'at most {rows:,} questions, or `stop = "end"`'
                raise MethodError(f"experiment {index} is too large to be asked in looks", must=must)
        if not count:
            raise MethodError(
                f"experiment {index} asks nothing", do="raise the number of texts or questions it may ask"
            )
    return slices


def looks_of(method: Method) -> int:
    """In how many looks an experiment is asked; 0 if all of it is asked."""
    return method.looks if isinstance(method, LookUser) and method.stop == "settled" else 0


def _in_looks(method: Method, frame: pl.DataFrame) -> pl.DataFrame:
    """The probes sorted by look, second askings with the first, with the tenths of the run in that order."""
    assert isinstance(method, LookUser)
    again = pl.col(RETEST_LAG).is_not_null() if RETEST_LAG in frame.columns else pl.lit(value=False)
    first = frame.filter(~again)
    dealt = pl.DataFrame({"_id": first["id"], LOOK: method.look_of(first)})
    named = frame.with_columns(_id=pl.col("id").str.strip_suffix(AGAIN))
    placed = named.join(dealt, on="_id", how="left", maintain_order="left").drop("_id")
    return _with_keys(with_segments(placed.sort(LOOK, maintain_order=True)))


def _with_keys(frame: pl.DataFrame) -> pl.DataFrame:
    keys = [message.key for message in messages(frame)]
    return frame.with_columns(pl.Series("key", keys, dtype=pl.String))


def _logs(plan: Plan, asked: Iterable[Target], method: Method) -> dict[str, pl.DataFrame]:
    """Log -> its probes with the factors of the method; services that can be asked are left out."""
    logs = {}
    for name in dict.fromkeys(one.service for one in asked if one.control is None):
        script = rateable_service(plan.services[name]).script()
        if script is None:
            continue
        named = script.with_columns((pl.lit(f"{name}: ") + pl.col("id")).alias("id"))
        rows = method.log_probes(named)  # type: ignore[attr-defined]
        placed = rows if "segment" in rows.columns else with_segments(rows)
        logs[name] = placed.with_columns(pl.lit(name).alias(ONLY))
    return logs


def probes_of(target: Target, frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of a probe frame that a subject is rated by: a log its own, everybody else the others."""
    frame = up_to_look(target, frame)
    if RETEST_LAG in frame.columns:
        frame = frame.filter(pl.col(RETEST_LAG).is_null()).drop(RETEST_LAG)
    if ONLY not in frame.columns:
        return frame
    own = frame.filter(pl.col(ONLY) == target.service) if target.control is None else frame.clear()
    if own.is_empty():
        return frame.filter(pl.col(ONLY) == "")
    return own.filter(pl.col(PART) == target.part) if PART in own.columns and target.part else own


def recorded_size(probes: Probes, place: ExperimentTask, services: Collection[str]) -> tuple[int, int] | None:
    """Blocks of the longest log of a place, and the texts or conversations of a block.

    None unless all of these services are logs.
    """
    talk = pl.when(pl.col("session") == "").then("id").otherwise("session")
    named = [
        frame.filter(pl.col(ONLY).is_in(services)).select(ONLY, "block", talk=talk).unique()
        for frame in batches_of(probes, place)
        if ONLY in frame.columns
    ]
    if not named:
        return None
    own = pl.concat(named).unique()
    sizes = own.group_by(ONLY).agg(pl.col("block").n_unique(), pl.len())
    found = {name: (blocks, rows // blocks) for name, blocks, rows in sizes.iter_rows()}
    return max(found[name] for name in services) if found.keys() >= set(services) else None


def probes_to_send(target: Target, frame: pl.DataFrame) -> pl.DataFrame:
    """As `probes_of`, with what a service that varies is asked a second time, in the order of sending."""
    if (
        RETEST_LAG not in frame.columns
        or target.control
        or target.deterministic
        or not _can_ask_again(target)
    ):
        return probes_of(target, frame)
    frame = up_to_look(target, frame)
    return frame.filter(pl.col(ONLY) == "") if ONLY in frame.columns else frame


def up_to_look(target: Target, frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of a probe frame up to the look of a subject; all, unless it has one."""
    if LOOK not in frame.columns:
        return frame
    return (frame.filter(pl.col(LOOK) <= target.look) if target.look else frame).drop(LOOK)


def _can_ask_again(target: Target) -> bool:
    """Whether somebody answers when asked: not a log, a table, or people who bring their answers."""
    legs = target.description.stages() if target.description else []
    return not target.by_hand and not any(isinstance(leg, Recording) for leg in legs)


def experiment_seed(seed: int, index: int) -> int:
    """The seed of one experiment of a plan: equal experiments draw different texts (methods 0.3)."""
    return int(digest("experiment seed", [seed, index])[:15], 16)


def messages(frame: pl.DataFrame) -> list[Message]:
    """The messages of a probe frame, in order; the turns of a session know their script and their place.

    A draw of a session is a separate session. Who speaks is known where there are columns `user` and
    `talk`; a session of one user and one conversation has no cast.
    """
    if not frame["session"].str.len_bytes().sum():
        return [Message(text, draw) for text, draw in frame.select("message", "draw").iter_rows()]
    spoken = [pl.col(name).fill_null("") if name in frame.columns else pl.lit("") for name in _SPOKEN]
    only = pl.col(ONLY) if ONLY in frame.columns else pl.lit("")
    rows = frame.select(
        *("message", "draw", "session", "turn", only.alias(ONLY)),
        pl.struct(user=spoken[0], talk=spoken[1]).alias("who"),
        pl.int_range(pl.len()).alias("row"),
    )
    found = [Message(text, draw) for text, draw in rows.select("message", "draw").iter_rows()]
    whole = rows.filter(pl.col("session") != "").sort("turn", maintain_order=True)
    scenes = whole.group_by(ONLY, "session", "draw", maintain_order=True).agg("row", "message", "who")
    for _, session, draw, places, texts, who in scenes.iter_rows():
        cast = tuple((one["user"], one["talk"]) for one in who)
        speakers = cast if len(set(cast)) > 1 else ()
        script = tuple(texts)
        for turn, place in enumerate(places):
            found[place] = Message(
                script[turn], draw, session, cast[turn][0], script=script, turn=turn, cast=speakers
            )
    return found


def planned_units(frame: pl.DataFrame, *, shared: bool) -> list[tuple[Message, ...]]:
    """The units to ask: single messages, or all turns of a session in order.

    A deterministic service is asked each message, and each session, once, and a few twice to verify that
    it is.
    """
    found = units(frame, shared=shared)
    return [*found, *repeat_units(found)] if shared else found


def units(frame: pl.DataFrame, *, shared: bool) -> list[tuple[Message, ...]]:
    """The units to ask; where `shared`, equal messages and equal sessions once."""
    found: dict[Any, list[Message]] = {}
    only = frame[ONLY].to_list() if ONLY in frame.columns else [""] * len(frame)
    for number, (message, log) in enumerate(zip(messages(frame), only, strict=True)):
        if message.session:
            found.setdefault((log, message.session, message.draw), []).append(message)
        elif shared:
            found.setdefault(message.text, [Message(message.text, 0)])
        else:
            found[number] = [message]
    every = [tuple(sorted(unit, key=lambda one: one.turn)) for unit in found.values()]
    return _different(every) if shared else every


def _different(units: list[tuple[Message, ...]]) -> list[tuple[Message, ...]]:
    """The units of a deterministic service: equal sessions once."""
    different: dict[tuple[str, str], tuple[Message, ...]] = {}
    for unit in units:
        if unit[0].session:
            different.setdefault(("session", unit[0].key), tuple(replace(one, draw=0) for one in unit))
        else:
            different["text", unit[0].text] = unit
    return list(different.values())


def repeat_units(units: Sequence[tuple[Message, ...]], before: int = 0) -> list[tuple[Message, ...]]:
    """The first few units a second time. `before`: messages that are asked twice already."""
    again: list[tuple[Message, ...]] = []
    for unit in units:
        if before >= REPEATED:
            break
        again.append(tuple(replace(one, draw=1) for one in unit))
        before += len(unit)
    return again
