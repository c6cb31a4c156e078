"""Second judges: services that read what the rule judge leaves open (architecture 3, social-bias 3.6 step 6).

A method with a second judge (`methods.method.SecondJudgeUser`), a service of the plan, says what to ask it
about scored answers (`referral_prompts`) and so that the judge can be measured (`evaluation_prompts`). These
prompts are asked like any other message, through the same engine, limits and store, keyed by their text; so
they resume, are copied from earlier runs, and everything follows from the stored replies again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl

from trustgauge.engine.local import Job
from trustgauge.errors import Fault, raise_faults
from trustgauge.methods import Method, SecondJudgeUser
from trustgauge.plan import Plan
from trustgauge.records import RESPONSE, Message
from trustgauge.run.cost import JudgeEstimate, Paces, Pending, estimate
from trustgauge.run.options import KeysOf
from trustgauge.run.probe_batches import is_one_batch
from trustgauge.run.rate import AnswersOf, Probes, answer_batches, answers_to
from trustgauge.run.targets import Target, methods
from trustgauge.services import ServiceSpec
from trustgauge.store.folder import read_manifest

TYPICAL = 1_500  # characters of a prompt whose answer is not known yet
_KINDS = {"str": pl.String, "int": pl.Int64, "float": pl.Float64}
Replies = Mapping[str, str | None]
Asked = Sequence[tuple[Target, Sequence[str]]]
"""Each judge with what it is asked."""


def second_judges(plan: Plan) -> tuple[Target, ...]:
    """The judge of every experiment that has one, as whom to ask. It is no subject: nobody rates it.

    Raises PlanError if it does not chat, or has several parts.
    """
    found: list[Target] = []
    faults: list[Fault] = []
    for index, method in enumerate(methods(plan)):
        if not isinstance(method, SecondJudgeUser) or not method.second_judge:
            continue
        name = method.second_judge
        description: Any = plan.services[name]
        able = description.task == "chat" and type(description).script is ServiceSpec.script  # no log
        parts = list(description.parts().values()) if able else []
        if len(parts) != 1:
            got = f"{len(parts)} parts" if parts else f"one of task {description.task}, or a log"
            place = f"experiments[{index}].judge.service"
            faults.append(Fault(place, f'"{name}" cannot judge', "a service that chats, of one part", got))
            continue
        (one,) = parts
        found.append(Target(index, name, "", "chat", one.fingerprint, one.deterministic, description=one))
    raise_faults(faults)
    return tuple(found)


def stored_judges(folder: Path) -> tuple[Target, ...]:
    """The judges of a run, as its manifest tells them."""
    return tuple(Target.from_facts(one) for one in read_manifest(folder).get("judges", ()))


def replies(judge: Target, answers: AnswersOf) -> Replies:
    """Prompt -> what a judge replied; None where asking failed, "" where it gave no words."""
    kept = answers(judge.fingerprint).filter(pl.col("draw") == 0)
    return {
        text: None if status == "failed" else (output or "") if status == "answered" else ""
        for text, status, output in kept.select("text", "status", "output").iter_rows()
    }


def with_replies(known: Sequence[Method], judges: Iterable[Target], answers: AnswersOf) -> list[Method]:
    """The methods, those with a judge knowing what it replied."""
    known_methods = list(known)
    for one in judges:
        known_methods[one.experiment] = _user(known_methods[one.experiment]).with_replies(
            replies(one, answers)
        )
    return known_methods


def _user(method: Method) -> SecondJudgeUser:
    if not isinstance(method, SecondJudgeUser):
        raise TypeError(f"{method.name} has no second judge")
    return method


def prompts(
    plan: Plan, judges: Sequence[Target], found: Sequence[Target], probes: Probes, answers: AnswersOf
) -> Asked:
    """What each judge is asked: to be measured first, then about the kept answers of rated services."""
    listed = []
    for one in judges:
        method = methods(plan)[one.experiment]
        user = _user(method)
        asked = dict.fromkeys(user.evaluation_prompts())
        for marks in _checked(method, one.experiment, found, probes, answers):
            asked.update(dict.fromkeys(user.referral_prompts(marks)))
        listed.append((one, list(asked)))
    return listed


def keys(asked: Asked) -> dict[str, set[tuple[str, int]]]:
    """Fingerprint -> keys of the replies, which an earlier run may hold."""
    wanted: dict[str, set[tuple[str, int]]] = {}
    for judge, texts in asked:
        wanted.setdefault(judge.fingerprint, set()).update((Message(text).key, 0) for text in texts)
    return wanted


def jobs(asked: Asked, present: KeysOf) -> list[Job]:
    """What is still to be asked of judges; a prompt of two experiments is asked once."""
    found = []
    for row in _pending(asked, present):
        if row.units:
            found.append(Job(row.target.judge_title, row.description, row.units, row.target.service))
    return found


def estimate_judging(
    ask_plan: tuple[Plan, Sequence[Target], Sequence[Target], Probes],
    answers: AnswersOf,
    present: KeysOf,
    paces: Paces = MappingProxyType({}),
) -> list[JudgeEstimate]:
    """What judging will take; sends nothing.

    Args:
        ask_plan: the plan, its judges, all subjects and their probes.
        answers: the kept answers of this run.
        present: the keys that are kept of a service, those of runs to copy from included.
        paces: how quickly providers answered in earlier runs.
    """
    plan, judges, found, probes = ask_plan
    estimates = []
    for row in _pending(prompts(plan, judges, found, probes, answers), present):
        judge, guess = row.target, (Message("x" * TYPICAL),)
        method: Any = methods(plan)[judge.experiment]
        to_come = _unanswered(judge.experiment, found, probes, answers)
        every = method.referral.refer == "all"
        likely = replace(row, units=(*row.units, *(guess,) * (to_come if every else 0)))
        whole = replace(row, units=(*row.units, *(guess,) * to_come))
        cost, most = estimate([likely], paces), estimate([whole], paces)
        estimates.append(
            JudgeEstimate(
                service=judge.service,
                refer=method.referral.refer,
                calls=cost.calls,
                kept=row.kept,
                further=most.calls - cost.calls,
                usd=cost.usd,
                seconds=cost.seconds,
                tokens=cost.tokens,
                unpriced=bool(most.unpriced),
                untimed=bool(cost.untimed),
                most_usd=most.usd,
            )
        )
    return estimates


def no_answers(_: str) -> pl.DataFrame:
    """The answers of a run that has none yet."""
    kinds = {"message": "str", "draw": "int", "text": "str", **RESPONSE}
    return pl.DataFrame(schema={name: _KINDS[kind] for name, kind in kinds.items()})


def _pending(asked: Asked, present: KeysOf) -> list[Pending]:
    claimed: dict[str, set[tuple[str, int]]] = {}
    rows = []
    for judge, texts in asked:
        taken = claimed.setdefault(judge.fingerprint, set(present(judge.fingerprint)))
        wanted = [Message(text) for text in texts]
        new = tuple((one,) for one in wanted if (one.key, 0) not in taken)
        taken |= {(one.key, 0) for (one,) in new}
        rows.append(Pending(judge, new, len(wanted), len(wanted) - len(new)))
    return rows


def _checked(
    method: Method, experiment: int, found: Sequence[Target], probes: Probes, answers: AnswersOf
) -> Iterator[pl.DataFrame]:
    """The answers of an experiment's rated services as its rule judge reads them; controls left out.

    All together where each has one slice of probes, else slice by slice.
    """
    mine = [one for one in found if one.experiment == experiment and one.control is None]
    if mine and all(is_one_batch(probes, (experiment, one.task)) for one in mine):
        rows = [answers_to(one, probes[experiment, one.task], answers) for one in mine]
        yield method.score(pl.concat(rows))
        return
    for one in mine:
        for frame in answer_batches(one, probes, answers):
            yield method.score(frame)


def _unanswered(experiment: int, found: Sequence[Target], probes: Probes, answers: AnswersOf) -> int:
    """Answers still to come of an experiment's rated services, equal messages of one that is shared once."""
    count = 0
    for one in found:
        if one.experiment == experiment and one.control is None:
            draw = pl.when("shared").then(pl.lit(0, pl.Int64)).otherwise(pl.col("draw").cast(pl.Int64))
            for rows in answer_batches(one, probes, answers):
                left = rows.filter(pl.col("error") == "not-asked")
                count += left.select("key", draw.alias("draw")).n_unique()
    return count
