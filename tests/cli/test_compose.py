"""What `compose` prints of a chain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import pytest

from trustgauge.cli.compose import inference_lines
from trustgauge.methods.two_step.composition import Inference
from trustgauge.reports import terminal
from trustgauge.run.chain_composition import ComposedChain


@pytest.mark.parametrize(
    ("state", "certainties", "told"),
    [
        (
            "not settled",
            {"UCS": 0.42, "BS": 0.38, "DSBS": 0.195, "UCS or BS": 0.005},
            "UCS 42 %, BS 38 %, DSBS 20 %",
        ),
        ("not settled", {"UCS": 0.42}, "42 %"),
        ("inferred", {"UCS": 0.42, "BS": 0.58}, "42 %"),
    ],
)
def test_a_chain_that_is_not_settled_states_the_certainty_of_every_level(
    state: Literal["inferred", "not settled"], certainties: Mapping[str, float], told: str
) -> None:
    found = Inference(("UCS",), state, 0.42, "rates", (), ("UCS",), certainties=certainties)
    line = terminal.plain(inference_lines(ComposedChain(("a", "b"), (), (), found, "sound"))[:1])
    assert line.rstrip().endswith(f" · certainty {told}")
