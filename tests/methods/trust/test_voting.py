"""Methods of voting: against brute force, and the laws they must keep (trust 4.3)."""

from __future__ import annotations

import random
from itertools import combinations, permutations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from trustgauge.errors import MethodError
from trustgauge.methods.trust.profiles import IssueOrder
from trustgauge.methods.trust.voting import WAYS, VoteResult, Voting, Way, rank_matrix, stability, vote

NAMES = "pqrst"


def ballot(at: list[int]) -> IssueOrder:
    """Issue number i at place at[i]; a negative place leaves it out."""
    used = sorted({place for place in at if place >= 0})
    return IssueOrder(
        tuple(tuple(NAMES[one] for one in range(len(at)) if at[one] == place) for place in used)
    )


def votes(m: int, most: int = 7) -> st.SearchStrategy[list[IssueOrder]]:
    """Ballots with ties and left-out issues."""
    places = st.lists(st.integers(-1, m - 1), min_size=m, max_size=m)
    return st.lists(places.map(ballot), min_size=1, max_size=most)


BALLOTS = st.integers(1, 4).flatmap(votes)
EACH_WAY = pytest.mark.parametrize("way", WAYS)


def listed(ballots: list[IssueOrder]) -> str:
    """As many issues as any ballot can list here, and one that none needs to."""
    most = max((NAMES.index(name) for one in ballots for name in one.issues), default=0)
    return NAMES[: most + 1]


def held(ballots: list[IssueOrder], way: Way, issues: str = "", seed: int = 0) -> VoteResult:
    return vote(ballots, issues or listed(ballots), Voting(way, seed=seed))


def lots(outcome: VoteResult) -> bool:
    return any(tie["by"] == "lot" for tie in outcome.ties)


def rank(one: IssueOrder, name: str, issues: str) -> float:
    """Mean rank on a ballot; unlisted issues share the last place."""
    for place in one.places:
        if name in place:
            before = sum(len(other) for other in one.places[: one.places.index(place)])
            return before + (len(place) + 1) / 2
    return len(one.issues) + (len(issues) - len(one.issues) + 1) / 2


def points(ballots: list[IssueOrder], issues: str, way: Way) -> dict[str, float]:
    """Every method of points and pairs as its definition says, one person after the other."""
    ranks = [{name: rank(one, name, issues) for name in issues} for one in ballots]
    scale = {"plurality": [1.0], "approval": [1.0, 1.0]}.get(
        way, [float(len(issues) - n) for n in range(1, len(issues) + 1)]
    )
    scale = (scale + [0.0] * len(issues))[: len(issues)]
    found = dict.fromkeys(issues, 0.0)
    if way in ("plurality", "approval", "borda"):
        for one in ranks:
            for name in issues:
                above = sum(other < one[name] for other in one.values())
                tied = sum(other == one[name] for other in one.values())
                found[name] += sum(scale[above : above + tied]) / tied
        return found
    beats = {
        (name, other): sum(one[name] < one[other] for one in ranks) for name, other in permutations(issues, 2)
    }
    if way == "schulze":
        links = {pair: n if n > beats[pair[::-1]] else 0 for pair, n in beats.items()}
        beats = {pair: _widest(*pair, links, issues) for pair in beats}
    for name, other in permutations(issues, 2):
        found[name] += 1.0 if beats[name, other] > beats[other, name] else 0.0
        found[name] += 0.5 if beats[name, other] == beats[other, name] else 0.0
    return found


def _widest(start: str, end: str, links: dict[tuple[str, str], int], issues: str) -> int:
    """The widest of all simple paths."""
    between = [name for name in issues if name not in (start, end)]
    best = 0
    for n in range(len(between) + 1):
        for inner in permutations(between, n):
            path = (start, *inner, end)
            best = max(best, min(links[path[at], path[at + 1]] for at in range(len(path) - 1)))
    return best


@pytest.mark.parametrize("way", [way for way in WAYS if way != "kemeny"])
@given(BALLOTS)
@settings(deadline=None, max_examples=60)
def test_scores_are_those_of_the_definition(way: Way, ballots: list[IssueOrder]) -> None:
    issues = listed(ballots)
    found = held(ballots, way)
    wanted = points(ballots, issues, way)
    assert found.scores == pytest.approx(wanted)
    assert [wanted[name] for name in found.order] == pytest.approx(sorted(wanted.values(), reverse=True))


@given(BALLOTS)
@settings(deadline=None, max_examples=60)
def test_kemeny_has_the_least_total_distance(ballots: list[IssueOrder]) -> None:
    issues = listed(ballots)
    ranks = [{name: rank(one, name, issues) for name in issues} for one in ballots]

    def total(order: tuple[str, ...]) -> float:
        pairs = list(combinations(order, 2))
        against = sum(one[after] < one[before] for one in ranks for before, after in pairs)
        tied = sum(one[after] == one[before] for one in ranks for before, after in pairs)
        return against + tied / 2

    found = held(ballots, "kemeny")
    assert found.distance == total(found.order) == min(total(order) for order in permutations(issues))


@EACH_WAY
@given(BALLOTS, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=40)
def test_people_count_alike(way: Way, ballots: list[IssueOrder], rng: random.Random) -> None:
    """Anonymity, lots included."""
    other = ballots.copy()
    rng.shuffle(other)
    assert held(ballots, way) == held(other, way)
    issues = listed(ballots)
    assert held(ballots, way, issues) == held(ballots, way, issues[::-1])


@EACH_WAY
@given(BALLOTS, st.permutations(range(4)))
@settings(deadline=None, max_examples=40)
def test_issues_count_alike(way: Way, ballots: list[IssueOrder], renaming: list[int]) -> None:
    """Neutrality: other names give the same order under the other names, unless a lot was needed."""
    issues = NAMES[:4]
    renamed = {NAMES[old]: NAMES[new] for old, new in enumerate(renaming)}
    other = [
        IssueOrder(tuple(tuple(sorted(renamed[name] for name in place)) for place in one.places))
        for one in ballots
    ]
    first, second = held(ballots, way, issues), held(other, way, issues)
    assert lots(first) == lots(second)
    if not lots(first):
        assert tuple(renamed[name] for name in first.order) == second.order


@EACH_WAY
@given(votes(4), st.permutations("pq"))
@settings(deadline=None, max_examples=40)
def test_what_all_prefer_stands_before(way: Way, ballots: list[IssueOrder], pair: list[str]) -> None:
    """Unanimity: put one issue right before another on every ballot."""
    first, second = pair
    other = []
    for one in ballots:
        places = [tuple(name for name in place if name != first) for place in one.places]
        at = next((n for n, place in enumerate(places) if second in place), len(places))
        other.append(IssueOrder(tuple(place for place in (*places[:at], (first,), *places[at:]) if place)))
    found = held(other, way, NAMES[:4])
    assert found.order.index(first) < found.order.index(second)


@pytest.mark.parametrize("way", ["copeland", "kemeny", "schulze"])
@given(votes(4))
@settings(max_examples=60, suppress_health_check=[HealthCheck.filter_too_much])
def test_who_beats_all_others_is_first(way: Way, ballots: list[IssueOrder]) -> None:
    issues = NAMES[:4]
    ranks = [{name: rank(one, name, issues) for name in issues} for one in ballots]

    def beats(name: str, other: str) -> bool:
        return sum(one[name] < one[other] for one in ranks) > sum(one[other] < one[name] for one in ranks)

    best = [name for name in issues if all(beats(name, other) for other in issues if other != name)]
    assume(best)
    assert held(ballots, way, issues).order[0] == best[0]


@EACH_WAY
@given(votes(4), st.integers(0, 6))
@settings(max_examples=60, suppress_health_check=[HealthCheck.filter_too_much])
def test_more_support_never_harms_a_winner(way: Way, ballots: list[IssueOrder], who: int) -> None:
    """Monotony of the first place, where it holds: Schulze if it beats all others, Kemeny without ties."""
    issues = NAMES[:4]
    before = held(ballots, way, issues)
    winner = before.order[0]
    assume(way != "schulze" or before.scores[winner] == len(issues) - 1)
    assume(way != "kemeny" or not before.ties)
    assume(not lots(before))
    one = ballots[who % len(ballots)]
    at = next((n for n, place in enumerate(one.places) if winner in place), len(one.places))
    rest = [tuple(name for name in place if name != winner) for place in one.places]
    raised = IssueOrder(
        tuple(place for place in (*rest[: max(0, at - 1)], (winner,), *rest[max(0, at - 1) :]) if place)
    )
    other = [*ballots]
    other[who % len(ballots)] = raised
    assert rank(raised, winner, issues) <= rank(one, winner, issues)
    assert held(other, way, issues).order[0] == winner


def test_ties_are_broken_step_by_step() -> None:
    borda = held([IssueOrder.parse("p > q > r"), IssueOrder.parse("r > p > q")], "plurality")
    assert borda.order == ("p", "r", "q")
    assert borda.ties == ({"issues": ["p", "r"], "by": "borda"},)
    majority = vote(
        [IssueOrder.parse(one) for one in ("p > q > r", "p > q > r", "q > r > p")], "pqr", Voting("borda")
    )
    assert majority.scores == {"p": 4, "q": 4, "r": 1}
    assert majority.order == ("p", "q", "r")
    assert majority.ties == ({"issues": ["p", "q"], "by": "majority"},)
    lot = held([IssueOrder.parse("p > q"), IssueOrder.parse("q > p")], "copeland")
    assert lot.ties == ({"issues": ["p", "q"], "by": "lot"},)
    assert lot.profile.places == (("p", "q"),)  # what a lot decided is no order


def test_lots_follow_the_seed() -> None:
    even = [IssueOrder.parse("p = q = r")]
    drawn = {held(even, "borda", "pqr", seed).order for seed in range(40)}
    assert len(drawn) == 6
    assert held(even, "borda", "pqr", 3) == held(even, "borda", "rqp", 3)


def test_unlisted_issues_share_the_last_place() -> None:
    matrix = rank_matrix([IssueOrder.parse("q"), IssueOrder.parse("r > p = q")], "pqr")
    assert matrix.tolist() == [[2.5, 1, 2.5], [2.5, 2.5, 1]]
    assert held([IssueOrder.parse("q")], "borda", "pqr").scores == {"q": 2, "p": 0.5, "r": 0.5}


def test_what_cannot_be_voted_on() -> None:
    one = IssueOrder.parse("p > q")
    with pytest.raises(MethodError, match="nothing to vote on"):
        vote([], "pq", Voting())
    with pytest.raises(MethodError, match="not voted on"):
        vote([one], "p", Voting())
    with pytest.raises(MethodError, match="too many issues"):
        vote([one], "pqrstuvwx", Voting("kemeny"))


@EACH_WAY
def test_a_unanimous_vote_is_stable(way: Way) -> None:
    result = stability([IssueOrder.parse("p > q > r")] * 12, "pqr", Voting(way), resamples=50)
    assert (result["same"], result["first"], result["lots"]) == (1, 1, 0)
    assert result["places"][0] == {"issue": "p", "shares": [1, 0, 0]}


def test_a_close_vote_is_not() -> None:
    ballots = [IssueOrder.parse("p > q > r")] * 11 + [IssueOrder.parse("q > p > r")] * 10
    result = stability(ballots, "pqr", Voting("borda", seed=5), resamples=2_000)
    # P(a resample of 21 with chance 11/21 has 11 or more) from the binomial distribution is .587.
    assert result["same"] == pytest.approx(0.587, abs=0.035)
    assert result["first"] == result["same"]
    shares = {one["issue"]: one["shares"] for one in result["places"]}
    assert shares["r"] == [0, 0, 1]
    assert shares["p"][0] + shares["q"][0] == pytest.approx(1)
    assert result == stability(ballots[::-1], "rqp", Voting("borda", seed=5), resamples=2_000)


@EACH_WAY
@pytest.mark.parametrize("seed", range(4))
def test_an_order_that_only_a_lot_made_is_not_stable(way: Way, seed: int) -> None:
    """Of two people who say the opposite half of all resamples draw the same one twice."""
    ballots = [IssueOrder.parse("p > q"), IssueOrder.parse("q > p")]
    voting = Voting(way, approved=1, seed=seed)
    assert vote(ballots, "pq", voting).profile == IssueOrder.parse("p = q")
    result = stability(ballots, "pq", voting, resamples=2_000)
    assert result["same"] == result["first"] == result["lots"] == pytest.approx(0.5, abs=0.04)
    shares = {one["issue"]: one["shares"] for one in result["places"]}
    assert shares["p"] == pytest.approx([0.5, 0.5], abs=0.04)
    assert shares["q"] == pytest.approx(shares["p"][::-1])
