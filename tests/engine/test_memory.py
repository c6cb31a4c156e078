"""What a worker that takes over a lane knows of it already, and what it must not forget for that."""

from __future__ import annotations

from tests.engine.virtual import Scripted
from trustgauge.engine.adaptive_limiter import ServiceStates


class Directed(Scripted):
    """A service in one direction, of a provider that is limited in all of them together."""

    source: str = "en"
    target: str = ""


def test_the_tighter_limits_of_a_provider_hold_though_its_prices_are_known() -> None:
    """A worker that takes over is told the dearest replies so far, before it opens a gate."""
    wide = Directed(name="one", target="es", rate=20.0, concurrency=8)
    tight = Directed(name="one", target="it", rate=2.0, concurrency=1)
    memory = ServiceStates()
    for one in (wide, tight):
        memory.of(one.fingerprint).dearest = (0.01, 10)
    gate = memory.gate("provider", wide)
    assert memory.gate("provider", tight) is gate
    assert (gate.rate, gate.most) == (2.0, 1)


def test_a_service_joins_a_gate_once() -> None:
    """What the gate has learned since is not undone when the service comes back in the next batch."""
    one = Directed(name="one", target="es", concurrency=8)
    memory = ServiceStates()
    gate = memory.gate("provider", one)
    gate.enter(9.0)
    gate.note_success(9.5, 0.5)
    for _ in range(3):
        gate.busy(10.0, 9.0, 2.0, requested=True)
    learned = gate.rate
    assert learned is not None
    assert memory.gate("provider", one) is gate
    assert gate.rate == learned
