"""Planned looks: each part of a service is asked until its level is settled (methods 0.11).

Whether a part has stopped follows from the kept answers alone, so a run that was killed goes on where it was,
and answers that another run lent count like its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from trustgauge.methods.method import LookUser
from trustgauge.run.options import AskPlan
from trustgauge.run.rate import StoredAnswers, rate_answers, source_part
from trustgauge.run.targets import Target, looks_of
from trustgauge.store.folder import RunFolder


def plans(ask_plan: AskPlan, folder: RunFolder) -> Iterator[AskPlan]:
    """The plan look by look: each time its subjects with the look up to which they are asked now.

    A plan without looks comes once, as it is. What was asked must be in the store of the folder before the
    next one is taken.
    """
    most = [looks_of(method) for method in ask_plan.methods]
    if not any(most):
        yield ask_plan
        return
    reached = [min(1, most[one.experiment]) for one in ask_plan.targets]
    going = [bool(look) and one.control is None for one, look in zip(ask_plan.targets, reached, strict=True)]
    for look in range(1, max(most) + 1):
        reached = [look if goes else before for goes, before in zip(going, reached, strict=True)]
        yield replace(ask_plan, targets=tuple(_at(ask_plan, reached)))
        going = [
            goes and look < most[one.experiment] for one, goes in zip(ask_plan.targets, going, strict=True)
        ]
        settled = _settled(ask_plan, [place for place, goes in enumerate(going) if goes], look, folder)
        going = [goes and place not in settled for place, goes in enumerate(going)]
        if not any(going):
            return


def _at(ask_plan: AskPlan, reached: list[int]) -> Iterator[Target]:
    """The subjects at their looks, controls at the last look of those that they stand beside."""
    last: dict[int, int] = {}
    for one, look in zip(ask_plan.targets, reached, strict=True):
        if one.control is None:
            last[one.experiment] = max(look, last.get(one.experiment, 0))
    for one, look in zip(ask_plan.targets, reached, strict=True):
        yield replace(one, look=last.get(one.experiment, 0) if one.control else look)


def _settled(ask_plan: AskPlan, places: list[int], look: int, folder: RunFolder) -> set[int]:
    """Which of the subjects at these places have only settled parts by what was answered up to a look."""
    found: set[int] = set()
    answers = StoredAnswers(folder.store)
    methods = [
        method.at_look(look) if isinstance(method, LookUser) and looks_of(method) else method
        for method in ask_plan.methods
    ]
    for index in sorted({ask_plan.targets[place].experiment for place in places}):
        mine = {
            place: ask_plan.targets[place] for place in places if ask_plan.targets[place].experiment == index
        }
        asked = [replace(one, look=look) for one in mine.values()]
        states: dict[tuple[str, str], set[str]] = {}
        for rating in rate_answers(methods, asked, ask_plan.probes, answers, seed=ask_plan.plan.seed).ratings:
            for part in rating.parts:
                states.setdefault((rating.service, source_part(part)), set()).add(part.state)
        found |= {place for place, one in mine.items() if states.get((one.service, one.part)) == {"rated"}}
    return found


def keep_looks(ask_plan: AskPlan, folder: RunFolder) -> tuple[Target, ...]:
    """The subjects as they were asked, kept in the manifest if they have looks, so that they are rated so."""
    if any(one.look for one in ask_plan.targets):
        folder.note(subjects=[one.facts() for one in ask_plan.targets])
    return ask_plan.targets
