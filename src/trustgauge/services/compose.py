"""Services made of services: a chain, and a round trip through a middle language (two-step 1.3, 1.9).

An engine does not ask a composite as a whole: each stage has its own limits and its own
answers, and the engine asks stage by stage. `open()` gives a live service for direct use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, SerializeAsAny, ValidationInfo, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from trustgauge import plugins
from trustgauge.errors import PlanError, RejectedError
from trustgauge.records import Message, Reply, Task
from trustgauge.services import Access, Service, ServiceSpec, TranslatorSpec, middle_languages, place_of
from trustgauge.services.languages import check, short

LIMITS = ("concurrency", "rate", "usd_per_call", "usd_per_million_characters", "seconds_per_call", "timeout")


def _described(value: Any, info: ValidationInfo) -> Any:
    """The description that a nested table means, found by its `use` among the plug-ins."""
    if isinstance(value, ServiceSpec):
        return value
    if not isinstance(value, Mapping):
        must = 'must be the table of a service, such as { use = "apertium", source = "en", target = "es" }'
        raise PydanticCustomError("service_table", must)
    use = value.get("use")
    try:
        if not isinstance(use, str):
            raise PlanError.of("use", "missing", must=f"one of: {', '.join(plugins.names('services'))}")
        model: type[ServiceSpec] = plugins.load("services", use, "use")
    except PlanError as error:
        # Raised as a fault of validation, so that the other faults of the table are reported too.
        raise PydanticCustomError("service_use", "{fault}", {"fault": str(error)}) from None
    return model.model_validate(value, context=info.context)


_TABLE = {
    "type": "object",
    "required": ["use"],
    "properties": {"use": {"type": "string", "description": "Kind of service"}},
}
Nested = Annotated[SerializeAsAny[ServiceSpec], BeforeValidator(_described), WithJsonSchema(_TABLE)]
"""A service inside a service: a table with its own `use`."""


class _Composite(ServiceSpec):
    """What chains and round trips share."""

    @model_validator(mode="after")
    def _limits_stand_with_the_stages(self) -> Self:
        for name in LIMITS:
            if getattr(self, name) != ServiceSpec.model_fields[name].default:
                raise ValueError(
                    f"`{name}` of a composite has no effect; write it in the table of its service"
                )
        return self

    @property
    def deterministic(self) -> bool:
        return all(stage.deterministic for stage in self._all_stages())

    @property
    def batch(self) -> int:
        return min(stage.batch for stage in self._all_stages())

    def offered_by(self) -> str:
        return ", ".join(dict.fromkeys(filter(None, (stage.offered_by() for stage in self._all_stages()))))

    def version(self) -> str:
        return ", ".join(
            dict.fromkeys(version for stage in self._all_stages() if (version := stage.version()))
        )

    def check_requirements(self) -> None:
        for stage in self._all_stages():
            stage.check_requirements()

    def access(self) -> tuple[Access, ...]:
        return tuple(dict.fromkeys(one for stage in self._all_stages() for one in stage.access()))

    def _all_stages(self) -> tuple[ServiceSpec, ...]:
        return self.stages()


class Chain(_Composite):
    """Services in order: the output of each is the message of the next.

    Attributes:
        services: tables of the services, in their order.
    """

    use: str = "chain"
    services: tuple[Nested, ...]

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not self.services:
            raise ValueError("a chain needs at least one service")
        for stage in self.stages()[:-1]:
            if stage.task == "score":
                raise ValueError(f'"{stage.use}" gives a number, so it can only be the last of a chain')
        return self

    @property
    def task(self) -> Task:
        return self.stages()[-1].task

    @property
    def kind(self) -> str:
        return " > ".join(stage.kind for stage in self.stages())

    def identity(self) -> Mapping[str, Any]:
        """The stages: a chain of chains is the same service as the chain of all their stages."""
        return {"use": "chain", "legs": [stage.fingerprint for stage in self.stages()]}

    def place_digest(self) -> str:
        """The places of the stages."""
        return place_of({"use": "chain", "legs": [stage.place_digest() for stage in self.stages()]})

    def stages(self) -> tuple[ServiceSpec, ...]:
        return tuple(stage for service in self.services for stage in service.stages())

    def open(self) -> LiveChain:
        return LiveChain(self.stages())


class RoundTrip(_Composite):
    """A translator there and back, through each of the ways in `via`; a way is a part with its own rating.

    `via = ["eo", "es>it"]` goes from the source to Esperanto and back, and from the source
    through Spanish to Italian and back through Spanish. `translator` is the table of a
    translator without its direction. With `then`, the table of another service, what came back
    is passed on to it: a sentiment scorer behind a round trip (causal 2.4).

    Attributes:
        translator: the table of a translator, without its direction.
        via: the languages in between, such as es, or es>it through two.
        source: the language that it starts from.
        then: the table of a service that gets what came back.
    """

    use: str = "round-trip"
    translator: Nested
    via: tuple[str, ...]
    source: str = "en"
    then: Nested | None = None

    @model_validator(mode="after")
    def _goes_somewhere(self) -> Self:
        if not isinstance(self.translator, TranslatorSpec):
            raise ValueError(f'"{self.translator.use}" is no translator')
        if not self.via:
            raise ValueError("`via` is empty; must name at least one middle language")
        for number, way in enumerate(self.via):
            if way in self.via[:number]:
                raise ValueError(f'"{way}" stands twice in `via`')
            path = self._path(way)
            if "" in path:
                raise ValueError(f'"{way}" is no way; must be languages joined by ">", such as es or es>it')
            if same := next((two for one, two in pairwise(path) if short(one) == short(two)), ""):
                raise ValueError(
                    f'the way "{way}" goes from "{same}" to itself; must go through other languages'
                )
            for code in path:
                check(code.partition("_")[0])  # Apertium tells variants apart behind "_"
        return self

    @property
    def task(self) -> Task:
        return self.then.task if self.then else self.translator.task

    @property
    def kind(self) -> str:
        trip = f"{self.translator.kind}, there and back"
        return f"{self.then.kind} behind a {trip}" if self.then else trip

    def identity(self) -> Mapping[str, Any]:
        return {
            "use": "round-trip",
            "parts": {key: part.fingerprint for key, part in self.parts().items()},
        }

    def place_digest(self) -> str:
        """The places on all ways, and the ways."""
        return place_of(
            {"use": "round-trip", "parts": {key: one.place_digest() for key, one in self.parts().items()}}
        )

    def parts(self) -> Mapping[str, Chain]:
        return {way: self._chain(way) for way in self.via}

    def middle_languages(self, part: str) -> Sequence[str]:
        return middle_languages(part)

    def stages(self) -> tuple[ServiceSpec, ...]:
        """The stages of the only way.

        Raises PlanError if there are several: a message cannot pass them all in one order.
        """
        if len(self.via) > 1:
            raise PlanError.of(
                "via",
                "several middle languages are tested part by part",
                must="one way",
                got=", ".join(self.via),
            )
        return self._chain(self.via[0]).stages()

    def open(self) -> LiveChain:
        return LiveChain(self.stages())

    def _path(self, way: str) -> list[str]:
        """Source and middle languages in the order of the way out."""
        return [self.source.strip(), *self.middle_languages(way)]

    def _chain(self, way: str) -> Chain:
        path = self._path(way)
        there_and_back = path + path[-2::-1]
        pairs = pairwise(there_and_back)
        translator = self.translator
        if not isinstance(translator, TranslatorSpec):  # checked above; said again for the type
            raise TypeError("a round trip needs a translator")
        last = (self.then,) if self.then else ()
        return Chain(services=(*(translator.pair(one, two) for one, two in pairs), *last))

    def _all_stages(self) -> tuple[ServiceSpec, ...]:
        return tuple(stage for part in self.parts().values() for stage in part.stages())


class LiveChain:
    """Asks stage after stage. Equal stages share one live service."""

    def __init__(self, stages: Sequence[ServiceSpec]) -> None:
        opened: dict[str, Service] = {}
        for stage in stages:
            if stage.fingerprint not in opened:
                opened[stage.fingerprint] = stage.open()
        self._stages = [(opened[stage.fingerprint], max(1, stage.batch)) for stage in stages]
        self._opened = tuple(opened.values())
        self._scores = stages[-1].task == "score"

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        """One reply each, with the outputs of all stages but the last as its trail.

        A refusal or an empty text in the middle is the reply of the whole chain. Raises
        RejectedError where a number is due and an empty text is all there is.
        """
        replies = [Reply(message.text) for message in messages]
        going = list(range(len(messages)))
        for number, (service, batch) in enumerate(self._stages):
            if number:
                going = [
                    one for one in going if not replies[one].refused and str(replies[one].output).strip()
                ]
            for start in range(0, len(going), batch):
                asked = going[start : start + batch]
                texts = [replace(messages[one], text=str(replies[one].output)) for one in asked]
                for one, answer in zip(asked, await service.ask(texts), strict=True):
                    replies[one] = _joined(replies[one], answer, first=number == 0)
        if self._scores and any(isinstance(reply.output, str) and not reply.refused for reply in replies):
            raise RejectedError(
                "a service of the chain gave no text to its scorer", do="Ask its services one by one"
            )
        return replies

    async def close(self) -> None:
        async with AsyncExitStack() as stack:
            for service in self._opened:
                stack.push_async_callback(service.close)


def _joined(before: Reply, answer: Reply, *, first: bool) -> Reply:
    """The reply so far and the answer of one more stage; tokens and cost add up."""
    trail = (*before.trail, *(() if first else (str(before.output),)), *answer.trail)
    return Reply(
        answer.output,
        trail,
        answer.refused,
        before.tokens + answer.tokens,
        before.usd + answer.usd,
        before.cut or answer.cut,
        "; ".join(filter(None, (before.answered_as, answer.answered_as))),
        before.estimated or answer.estimated,
    )
