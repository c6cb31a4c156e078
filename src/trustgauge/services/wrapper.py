"""Wrappers of one chat service: they take over its limits, prices, address and key."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import model_validator

from trustgauge.records import Task
from trustgauge.services import Access, ServiceSpec, TokenPrices, place_of
from trustgauge.services.compose import LIMITS, Nested


class ServiceWrapper(ServiceSpec):
    """A chat service that wraps another one and takes over its limits and prices.

    Attributes:
        service: the table of the service that it wraps.
    """

    task: ClassVar[Task] = "chat"

    service: Nested

    if not TYPE_CHECKING:  # facts that a class may state, and that are worked out here

        @property
        def batch(self) -> int:
            return self.service.batch

        @property
        def kind(self) -> str:
            return self.service.kind

        @property
        def provider(self) -> str:
            return self.service.provider

    @model_validator(mode="after")
    def _as_the_service(self) -> Self:
        inner = self.service
        if inner.task != "chat" or len(inner.stages()) != 1:
            raise ValueError(f'"{inner.use}" must be a chat service, and not made of several')
        for name in LIMITS:
            given = getattr(self, name)
            if name in self.model_fields_set and given != getattr(inner, name):
                raise ValueError(f"`{name}` has no effect here; write it in the table of its service")
            object.__setattr__(self, name, getattr(inner, name))  # frozen for everybody else
        return self

    def offered_by(self) -> str:
        return self.service.offered_by()

    @property
    def key(self) -> str:
        """Name of the variable that holds the service's key, which also tells a remote service."""
        return self.service.key

    @property
    def url(self) -> str:
        """Address of the service, "" if it has none."""
        return self.service.url

    @property
    def usd_per_million_input_tokens(self) -> float:
        """Price of the service."""
        inner = self.service
        return inner.usd_per_million_input_tokens if isinstance(inner, TokenPrices) else 0.0

    @property
    def usd_per_million_output_tokens(self) -> float:
        """Price of the service."""
        inner = self.service
        return inner.usd_per_million_output_tokens if isinstance(inner, TokenPrices) else 0.0

    def place_digest(self) -> str:
        """That of the service, asked in this way."""
        settings = self.model_dump(mode="json", include=set(self.PLACE))
        return place_of({**settings, "service": self.service.place_digest()})

    def innermost(self) -> ServiceSpec:
        return self.service.innermost()

    def variables(self) -> tuple[str, ...]:
        return self.service.variables()

    def access(self) -> tuple[Access, ...]:
        return self.service.access()

    def version(self) -> str:
        return self.service.version()
