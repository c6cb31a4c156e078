"""What was learned of services, kept from one sitting to the next in the same process."""

from __future__ import annotations

from dataclasses import dataclass, field

from trustgauge.engine.adaptive_limiter import AdaptiveLimiter
from trustgauge.errors import ServiceError
from trustgauge.records import Reply
from trustgauge.services.service import ServiceSpec


@dataclass(slots=True)
class ServiceState:
    """What was learned of one service (one leg, unique by fingerprint).

    Attributes:
        known: answers of a deterministic service, and how long each took: (text, draw) -> (reply, ms).
        dearest: of the replies so far: dollars, tokens.
        stopped: the error for which the service is not asked any more.
    """

    known: dict[tuple[str, int], tuple[Reply, float]] = field(default_factory=dict)
    dearest: tuple[float, int] | None = None
    stopped: ServiceError | None = None


class ServiceStates:
    """Gates by provider and what was learned by fingerprint.

    A sitting that is given the memory of the one before goes on at the pace that was reached, and
    keeps to a rate over the seam between the two: gates reckon in the clock of the event loop, which
    all loops of one process share.
    """

    def __init__(self) -> None:
        self.gates: dict[str, AdaptiveLimiter] = {}
        self.learned: dict[str, ServiceState] = {}
        self._joined: set[tuple[str, str]] = set()  # provider and service whose limits its gate keeps

    def gate(self, provider: str, description: ServiceSpec) -> AdaptiveLimiter:
        """The gate of a provider; a service that is new to it brings its limits."""
        gate = self.gates.get(provider)
        if gate is None:
            gate = self.gates[provider] = AdaptiveLimiter(description.concurrency, description.rate)
        elif (provider, description.fingerprint) not in self._joined:
            gate.join(description.concurrency, description.rate)
        self._joined.add((provider, description.fingerprint))
        return gate

    def of(self, fingerprint: str) -> ServiceState:
        """What is known of one service; nothing at first."""
        return self.learned.setdefault(fingerprint, ServiceState())
