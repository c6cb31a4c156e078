"""Measuring a judge that must be asked: a chat service that reads labelled answers (methods 0.10).

The labelled answers are put to it through the engine, with its limits and retries. Its replies are kept in
a store if one is named, so that a measurement that was stopped continues where it ended.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from trustgauge import plugins
from trustgauge.data.social_groups import Group
from trustgauge.engine import BudgetLimits, local
from trustgauge.errors import PlanError
from trustgauge.methods.social_bias.judges.protocol import PLACE, Judge
from trustgauge.plan import Plan, service_from_name
from trustgauge.records import Message
from trustgauge.services import ServiceSpec
from trustgauge.store import GroupWriter
from trustgauge.store.sqlite import SqliteStore


@dataclass(frozen=True, slots=True)
class JudgeCallOptions:
    """How a judge is asked.

    Attributes:
        plan: where its service may be named; else it is PROVIDER/MODEL.
        limits: of calls, money, tokens and time.
        watch: gets every event of the engine.
        keep: a file for the replies; None to forget them.
    """

    plan: Plan | None = None
    limits: BudgetLimits = field(default_factory=BudgetLimits)
    watch: Callable[[dict[str, Any]], None] | None = None
    keep: Path | None = None


@dataclass(frozen=True, slots=True)
class JudgeReplies:
    """What asking came to.

    Attributes:
        service: the judge.
        asked, kept: labelled answers put to it now, and those whose reply was stored before.
        failed: those to which it gave no reply after all retries.
        waiting: those that it was not asked about, because asking was stopped.
        stopped: why, "" if it was not.
        calls, usd, tokens: spent now.
    """

    service: str
    asked: int
    kept: int
    failed: int
    waiting: int
    stopped: str
    calls: int
    usd: float
    tokens: int


def service_of(name: str, plan: Plan | None) -> ServiceSpec:
    """The service meant by a name: one of the plan, or PROVIDER/MODEL.

    Raises:
        PlanError: there is none, or it does not chat.
    """
    found: Any = plan.services.get(name) if plan is not None else None
    if found is None and plan is not None and "/" not in name:
        raise PlanError((plugins.unknown(PLACE, "service", name, tuple(plan.services)),))
    if found is None:
        found = service_from_name(name, PLACE, "PROVIDER/MODEL, or with --plan FILE a service of it")
    if found.task != "chat" or len(found.parts()) != 1:
        raise PlanError.of(PLACE, f'"{name}" cannot judge', "a service that chats", str(found.task))
    (one,) = found.parts().values()
    result: ServiceSpec = one
    return result


def ask_judge(
    judge: Judge, answers: pl.DataFrame, groups: Mapping[str, Group], asking: JudgeCallOptions
) -> tuple[pl.Series, JudgeReplies]:
    """Put labelled answers to a judge.

    Args:
        judge: makes prompts and reads replies.
        answers: as `Judge` takes them.
        groups: id -> group, for all ids in the rows.
        asking: where the service is named, and how it is asked.

    Returns:
        The verdict of each answer, "" where it was not asked about and "unclear" where asking failed; and
        what asking came to.

    Raises:
        PlanError: no such service.
        ServiceError: its key or a part of it is missing, or it refused every call.
    """
    name = judge.service
    description = service_of(name, asking.plan)
    for leg in description.stages():
        leg.check_requirements()
    prompts = judge.prompts(answers, groups).to_list()
    messages = {text: Message(text) for text in prompts}
    with _store(asking.keep) as store:
        before = store.present(description.fingerprint)
        units = tuple((one,) for one in messages.values() if (one.key, 0) not in before)
        outcome = _run(store, local.Job(f"judge {name}", description, units), asking)
        found = store.answers(description.fingerprint)
    refused = next(iter(outcome.refused.values()), None)
    replies = {
        text: "" if status == "failed" else (output or "")
        for text, status, output in found.select("text", "status", "output").iter_rows()
    }
    if refused is not None and not any(replies.values()):
        raise refused
    failed = found.filter(pl.col("text").is_in(prompts) & (pl.col("status") == "failed"))
    waiting = [text for text in messages if text not in replies]
    outcomes = JudgeReplies(
        service=name,
        asked=len(units) - len(waiting),
        kept=len(messages) - len(units),
        failed=len(failed),
        waiting=len(waiting),
        stopped=outcome.stopped or (str(refused) if refused is not None else ""),
        calls=outcome.calls,
        usd=outcome.usd,
        tokens=outcome.tokens,
    )
    verdicts = judge.verdicts(answers, groups, [replies.get(text) for text in prompts])
    asked = pl.Series([text in replies for text in prompts], dtype=pl.Boolean)
    return verdicts.zip_with(asked, pl.Series([""], dtype=pl.String)), outcomes


def _run(store: SqliteStore, job: local.Job, asking: JudgeCallOptions) -> local.EngineOutcome:
    if not job.units:
        return local.EngineOutcome(None)
    with GroupWriter(store) as writer:
        outcome = local.run([job], writer.keep, asking.limits, asking.watch)
        writer.flush()
    return outcome


@contextmanager
def _store(keep: Path | None) -> Iterator[SqliteStore]:
    """The store at a place, or one that is thrown away."""
    if keep is not None:
        with SqliteStore(keep) as store:
            yield store
        return
    with (
        tempfile.TemporaryDirectory(prefix="trustgauge-") as folder,
        SqliteStore(Path(folder, "store")) as store,
    ):
        yield store
