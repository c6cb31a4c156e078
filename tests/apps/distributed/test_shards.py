"""Which jobs go together, and in which order their units are taken."""

from __future__ import annotations

import math

from tests.engine.virtual import Composite, Scripted, Sure, units
from trustgauge.apps.distributed.shards import RETRIES, need, shards_of
from trustgauge.engine.local import Job
from trustgauge.records import Message
from trustgauge.services.http import Http

URL = "http://127.0.0.1:9/"


def there(**more: object) -> Http:
    return Http.model_validate({"url": URL, "task": "chat", **more})


def parts(jobs: list[Job], threads: int = 4) -> list[list[str]]:
    return [[work.part for work in lane.works] for lane in shards_of(jobs, threads)]


def test_directions_of_one_provider_share_a_lane_and_others_do_not() -> None:
    jobs = [
        Job("es", there(source="en", target="es"), units(2)),
        Job("fr", there(source="en", target="fr"), units(2)),
        Job("other", there(url=URL + "other"), units(2)),
    ]
    assert parts(jobs) == [["es", "fr"], ["other"]]


def test_a_chain_draws_the_lanes_of_its_services_together() -> None:
    jobs = [
        Job("a", Scripted(name="a"), units(1)),
        Job("b", Scripted(name="b"), units(1)),
        Job("c", Scripted(name="c"), units(1)),
        Job("b > c", Composite(names=("b", "c")), units(1)),
        Job("c again", Scripted(name="c"), units(1)),
    ]
    assert parts(jobs) == [["a"], ["b", "c", "b > c", "c again"]]


def test_only_what_nothing_outside_limits_is_split() -> None:
    whole = [
        Scripted(name="varies"),
        Sure(name="rate", rate=5.0),
        Composite(names=("a", "b"), sure=True),
        there(deterministic=True),
        there(url=URL + "key", key="A_KEY", headers={"Authorization": "{key}"}, deterministic=True),
    ]
    for description in whole:
        assert len(shards_of([Job("one", description, units(50))], 4)) == 1
    lanes = shards_of([Job("one", Sure(name="model"), units(200))], 4)
    assert len(lanes) == 4
    assert len({lane.name for lane in lanes}) == 4
    taken = [unit for lane in lanes for _, unit in lane.take(10_000)]
    assert sorted(taken, key=str) == sorted(units(200), key=str)
    assert all(not lane.waits for lane in lanes)
    assert len(shards_of([Job("one", Sure(name="model"), units(200))], 1)) == 1


def test_equal_texts_of_two_jobs_are_split_alike() -> None:
    jobs = [Job("a", Sure(name="model"), units(50)), Job("b", Sure(name="model"), units(50))]
    for lane in shards_of(jobs, 3):
        first, second = ([unit[0].text for unit in work.units] for work in lane.works)
        assert first == second


def test_lanes_know_what_they_wait_for_and_the_tightest_rate() -> None:
    remote, here = shards_of(
        [
            Job("a", there(source="en", target="es", rate=9.0), units(1)),
            Job("b", there(source="en", target="fr", rate=3.0), units(1)),
            Job("c", Scripted(name="c"), units(1)),
        ],
        2,
    )
    assert (remote.waits, remote.rate) == (True, 3.0)
    assert (here.waits, here.rate) == (False, None)


def test_units_of_all_parts_are_taken_in_turn_and_can_be_put_back() -> None:
    (lane,) = shards_of([Job("a", there(), units(5, "a")), Job("b", there(), units(5, "b"))], 2)
    first = lane.take(7)
    assert [unit[0].text for _, unit in first] == ["a 0", "b 0", "a 1", "b 1", "a 2", "b 2", "a 3"]
    lane.put_back(first[3:])
    rest = [unit[0].text for _, unit in lane.take(100)]
    assert rest == ["a 2", "b 1", "a 3", "b 2", "a 4", "b 3", "b 4"]
    assert not lane.more


def test_a_unit_larger_than_a_batch_is_taken_alone() -> None:
    script = tuple(f"line {n}" for n in range(30))
    session = tuple(Message(text, 0, "s", script=script, turn=n) for n, text in enumerate(script))
    (lane,) = shards_of([Job("talk", there(), [session, session])], 2)
    assert len(lane.take(10)) == 1
    assert lane.more


def test_what_is_stopped_is_not_taken() -> None:
    (lane,) = shards_of([Job("a", there(), units(5, "a")), Job("b", there(), units(5, "b"))], 2)
    lane.works[0].stopped = True
    assert {work.part for work, _ in lane.take(100)} == {"b"}
    assert not lane.more


def test_what_a_batch_needs_is_known_once_prices_are() -> None:
    chain = Composite(names=("a", "b"))
    (lane,) = shards_of([Job("chain", chain, units(10))], 1)
    batch = lane.take(100)
    room = 1 + RETRIES
    assert need(batch, {}).calls == math.ceil(20 * room)
    assert need(batch, {}).usd is None
    first, second = (leg.fingerprint for leg in chain.stages())
    known = need(batch, {first: (0.1, 7), second: (0.0, 1)})
    assert known.usd is not None
    assert math.isclose(known.usd, 10 * 0.1 * room)
    assert known.tokens == math.ceil(80 * room)


def test_a_declared_price_counts_where_it_is_dearer() -> None:
    priced = there(usd_per_call=0.5, usd_per_million_characters=100_000.0)
    (lane,) = shards_of([Job("priced", priced, units(4, "text"))], 1)
    found = need(lane.take(100), {priced.fingerprint: (0.01, 0)})
    assert found.usd is not None
    assert math.isclose(found.usd, (4 * 0.5 + 4 * len("text 0") * 0.1) * (1 + RETRIES))
