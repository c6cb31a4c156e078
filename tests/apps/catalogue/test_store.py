"""The store of the catalogue: one contract, in SQLite and in PostgreSQL."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import MetaData, create_engine, inspect, select, text, update

from tests.apps.catalogue.documents import chatbots, two_step
from tests.reports import hostile
from trustgauge.apps.catalogue.identity import slug_of
from trustgauge.apps.catalogue.jobs import JobQueue
from trustgauge.apps.catalogue.queries import RatingQuery
from trustgauge.apps.catalogue.schema import CONTENTS, METADATA, RATINGS, migrate, open_database
from trustgauge.apps.catalogue.store import CatalogueStore
from trustgauge.errors import CatalogueError, PlanError
from trustgauge.records import canonical
from trustgauge.reports.document import fingerprint

TODAY = date(2026, 11, 23)


def ids(store: CatalogueStore, **query: str) -> list[str]:
    return [row["id"] for row in store.list_ratings(RatingQuery(**query), TODAY).rows]


def put(store: CatalogueStore, told: Any, **more: Any) -> list[str]:
    """Take in a document that was made here, without trying it out on every page."""
    return store.add(told, **{"actor": "lab", **more}, is_checked=True)


def test_a_document_is_taken_in_once_and_found_by_what_it_says(store: CatalogueStore) -> None:
    result = two_step()
    added = store.add(result, actor="lab")
    assert added == [rating["id"] for rating in result["ratings"]]
    assert put(store, result) == []
    put(store, chatbots())
    assert ids(store, method="two-step") == added
    assert ids(store, q="bot priv") == ["TG-2026-1122-c0de.1"]
    assert ids(store, q='bot" OR "x') == []
    assert ids(store, q="' & | ! :* <-> NEAR(") == []
    assert ids(store, task="chat", dimension="safe-language", certainty="90") == ["TG-2026-1122-c0de.2"]
    assert ids(store, language="en", state="in force", age="3650") != []
    assert ids(store, service="bot") == ids(store, task="chat")
    assert [change["action"] for change in store.changes()] == ["published"] * (len(added) + 2)
    found = store.rating(added[0])
    assert found is not None
    assert found.row["hash"] == fingerprint({**result, "ratings": [result["ratings"][0]]})  # type: ignore[typeddict-item]
    assert canonical(found.document) == canonical({**result, "ratings": [result["ratings"][0]]})


def test_pages_of_a_list_hold_every_rating_once(store: CatalogueStore) -> None:
    for number in range(4):
        put(store, two_step(f"TG-2026-1120-{number:04x}", service=f"s{number}"))
    put(store, chatbots())
    whole = ids(store)
    for order in ("", "best"):
        seen: list[str] = []
        after = ""
        while True:
            page = store.list_ratings(RatingQuery(order=order, after=after), TODAY, 3)
            seen += [row["id"] for row in page.rows]
            after = page.after
            if not after:
                break
        assert sorted(seen) == sorted(whole)
        assert len(set(seen)) == len(seen)
    assert store.list_ratings(RatingQuery(after="no|cursor|x"), TODAY).rows is not None


def test_the_newest_of_a_series_is_in_the_list_and_its_history_is_kept(store: CatalogueStore) -> None:
    put(store, chatbots("TG-2026-0901-aaaa", tested="2026-09-01"))
    put(store, chatbots("TG-2026-1101-bbbb", tested="2026-11-01"))
    put(store, chatbots("TG-2026-1002-cccc", tested="2026-10-02", assessor="Other"))
    assert ids(store) == [
        "TG-2026-1101-bbbb.1",
        "TG-2026-1101-bbbb.2",
        "TG-2026-1002-cccc.1",
        "TG-2026-1002-cccc.2",
    ]
    assert len(ids(store, earlier="1")) == 6
    assert [row["tested"] for row in store.history("bot")][::2] == ["2026-11-01", "2026-10-02", "2026-09-01"]
    assert dict(store.choices()["assessor"])["Other"] == 2


def served(run: str, **changes: Any) -> Any:
    """A rating of an HTTP service with the key `mine`, of two kinds of users."""
    told = {"service": "mine", "kind": "HTTP service", "version": "", "fingerprint": "a" * 32}
    return chatbots(f"TG-2026-1101-{run}", **told | changes)


HTTP = served("aaaa")
ELSEWHERE = served("bbbb", fingerprint="b" * 32)
TRIP = served("cccc", fingerprint="c" * 32, kind="HTTP service, there and back", ways=["fi"])
SOUND = served("dddd", rule="sound")


def services(store: CatalogueStore) -> dict[str, list[str]]:
    return {
        row["slug"]: [one["run"][-4:] for one in store.history(row["slug"])][::2] for row in store.services()
    }


def test_another_address_or_route_under_one_key_is_another_service(store: CatalogueStore) -> None:
    for one in (HTTP, SOUND, TRIP, ELSEWHERE, served("eeee", tested="2026-11-23")):
        put(store, one)
    assert services(store) == {"mine": ["eeee", "dddd", "aaaa"], "mine-2": ["cccc"], "mine-3": ["bbbb"]}
    kinds = {row["slug"]: (row["kind"], row["route"]) for row in store.services()}
    assert kinds["mine"] == kinds["mine-3"] == ("HTTP service", "")
    assert kinds["mine-2"] == ("HTTP service, there and back", "fi")
    assert {row["id"][8:17]: row["kind"] for row in store.list_ratings(RatingQuery(), TODAY).rows} == {
        "1101-eeee": "HTTP service",
        "1101-dddd": "HTTP service",
        "1101-cccc": "HTTP service, there and back",
        "1101-bbbb": "HTTP service",
    }


def test_versions_of_one_place_are_one_history_and_another_place_is_another_service(
    store: CatalogueStore,
) -> None:
    put(store, served("aaaa", version="1.0", fingerprint="1" * 32))  # of before: without a place
    put(store, served("bbbb", version="1.1", fingerprint="2" * 32, place="p" * 32))
    put(store, served("cccc", version="1.1", fingerprint="3" * 32, place="q" * 32))
    put(store, served("dddd", version="1.2", fingerprint="4" * 32, place="p" * 32, kind="HTTP"))
    put(store, served("eeee", version="1.2", fingerprint="5" * 32, place="q" * 32))
    put(
        store,
        served("ffff", fingerprint="6" * 32, talked_with="4" * 32, place="p" * 32, kind="recorded dialogs"),
    )
    assert {slug: sorted(runs) for slug, runs in services(store).items()} == {
        "mine": ["aaaa", "bbbb", "dddd", "ffff"],
        "mine-2": ["cccc", "eeee"],
    }
    service = store.service("mine")
    assert service is not None
    assert service["kind"] == "HTTP"  # as its last rating says; what was said in a talk does not


def test_a_later_document_that_tells_the_place_goes_on_with_the_history(store: CatalogueStore) -> None:
    put(store, ELSEWHERE)
    put(store, HTTP)
    put(store, served("cccc", place="p" * 32))
    put(store, served("dddd"))  # published from an older version
    put(store, served("eeee", fingerprint="b" * 32, place="q" * 32))
    assert {slug: sorted(runs) for slug, runs in services(store).items()} == {
        "mine": ["bbbb", "eeee"],
        "mine-2": ["aaaa", "cccc", "dddd"],
    }


def test_ratings_by_our_rule_stand_first_and_each_rule_can_be_asked_for(store: CatalogueStore) -> None:
    put(store, served("dddd", rule="sound", tested="2026-11-02"))
    put(store, served("aaaa", rule="published", tested="2026-11-03"))
    put(store, served("bbbb", rule="released", tested="2026-11-04"))
    put(store, served("cccc", rule="sound", tested="2026-11-05", service="other"))
    assert [one[-6:-2] for one in ids(store)][::2] == ["cccc", "dddd", "bbbb", "aaaa"]
    assert [one[-6:-2] for one in ids(store, rule="published")] == ["aaaa", "aaaa"]
    assert store.choices()["rule"] == [("published", 2), ("released", 2), ("sound", 4)]
    first = store.list_ratings(RatingQuery(), TODAY, 5)
    rest = store.list_ratings(RatingQuery(after=first.after), TODAY, 5)
    assert [row["id"] for row in (*first.rows, *rest.rows)] == ids(store)


def test_keys_that_look_like_a_numbered_one_are_no_hindrance(store: CatalogueStore) -> None:
    put(store, served("aaaa", service="mine-2"))
    for number in range(3):
        put(store, served(f"bbb{number}", fingerprint=str(number) * 32))
    assert sorted(services(store)) == ["mine", "mine-2", "mine-3", "mine-4"]


def test_of_one_day_the_rating_that_came_in_last_heads_the_history(store: CatalogueStore) -> None:
    for run, hour in (("TG-2026-1101-bbbb", 8), ("TG-2026-1101-aaaa", 9)):
        put(store, chatbots(run, tested="2026-11-01"))
        came = {"received": f"2026-11-01T{hour:02}:00:00+00:00"}
        with store.engine.begin() as connection:
            connection.execute(update(RATINGS).where(RATINGS.c.run == run).values(**came))
    runs = [row["run"] for row in store.history("bot")]
    assert list(dict.fromkeys(runs)) == ["TG-2026-1101-aaaa", "TG-2026-1101-bbbb"]


def test_of_one_day_the_run_that_ended_last_stands_first_whatever_it_is_called(store: CatalogueStore) -> None:
    for run, ended in (
        ("TG-2026-1101-bbbb", "08:00:00Z"),
        ("TG-2026-1101-cccc", "10:00:00+02:00"),
        ("TG-2026-1101-aaaa", "09:00:00Z"),
    ):
        put(store, chatbots(run, tested="2026-11-01", ended=f"2026-11-01T{ended}"))
    # bbbb and cccc ended at one time, so what came in later is newer
    wanted = ["TG-2026-1101-aaaa", "TG-2026-1101-cccc", "TG-2026-1101-bbbb"]
    assert list(dict.fromkeys(row["run"] for row in store.history("bot"))) == wanted
    assert ids(store, earlier="1") == [f"{run}.{place}" for run in wanted for place in (1, 2)]
    assert ids(store) == ["TG-2026-1101-aaaa.1", "TG-2026-1101-aaaa.2"]
    first = store.list_ratings(RatingQuery(earlier="1"), TODAY, 3)
    rest = store.list_ratings(RatingQuery(earlier="1", after=first.after), TODAY, 3)
    assert [row["id"] for row in (*first.rows, *rest.rows)] == ids(store, earlier="1")


@pytest.mark.parametrize(
    "slight", [{"talked_with": "f" * 32}, {"provisional": True}], ids=["talk", "provisional"]
)
def test_a_slight_rating_takes_the_place_of_no_fuller_one(
    store: CatalogueStore, slight: dict[str, Any]
) -> None:
    put(store, chatbots("TG-2026-1101-aaaa", tested="2026-11-01", **slight))
    assert ids(store) == ["TG-2026-1101-aaaa.1", "TG-2026-1101-aaaa.2"]  # there is no other yet
    put(store, chatbots("TG-2026-1102-bbbb", tested="2026-11-02"))
    put(store, chatbots("TG-2026-1103-cccc", tested="2026-11-03", **slight))
    assert ids(store) == ["TG-2026-1102-bbbb.1", "TG-2026-1102-bbbb.2"]
    assert len(ids(store, earlier="1")) == 6
    put(store, chatbots("TG-2026-1104-dddd", tested="2026-11-04"))
    assert ids(store) == ["TG-2026-1104-dddd.1", "TG-2026-1104-dddd.2"]


def test_what_is_published_is_not_overwritten_but_by_its_own_folder(store: CatalogueStore) -> None:
    result = chatbots()
    put(store, result, folder="/runs/one")
    changed = chatbots(expires="2027-01-01")
    with pytest.raises(match="different content"):
        put(store, changed)
    with pytest.raises(match="different content"):
        put(store, changed, folder="/runs/two")
    before = store.rating("TG-2026-1122-c0de.1")
    assert put(store, changed, folder="/runs/one") != []
    after = store.rating("TG-2026-1122-c0de.1")
    assert before is not None
    assert after is not None
    assert [old["hash"] for old in after.revisions] == [before.row["hash"]]


def test_who_published_a_run_may_publish_what_an_audit_made_of_it(store: CatalogueStore) -> None:
    def read(root: str, **changes: Any) -> dict[str, Any]:
        document = chatbots(**changes)
        document["run"]["tree"] = {"root": root * 64, "rows": 12}
        return document

    put(store, read("a"))
    audited = read("a", expires="2027-01-01")
    with pytest.raises(match="different content"):
        put(store, read("b", expires="2027-01-01"))  # other answers
    with pytest.raises(match="different content"):
        put(store, audited, actor="somebody else")
    with pytest.raises(match="different content"):
        put(store, {**audited, "ratings": audited["ratings"][:1]})
    before = store.rating("TG-2026-1122-c0de.1")
    assert put(store, audited) == ["TG-2026-1122-c0de.1", "TG-2026-1122-c0de.2"]
    after = store.rating("TG-2026-1122-c0de.1")
    assert before is not None
    assert after is not None
    assert [old["hash"] for old in after.revisions] == [before.row["hash"]]
    assert after.document["ratings"][0]["expires"] == "2027-01-01"
    assert put(store, audited) == []
    assert put(store, read("a", expires="2027-01-02")) != []  # further labels


def test_withdrawals_corrections_and_replies_stand_beside_the_document(store: CatalogueStore) -> None:
    put(store, chatbots())
    name = "TG-2026-1122-c0de.1"
    assert store.say(name, "reply", "We mended it.", "Provider")
    assert store.say(name, "withdrawal", "Wrong endpoint.", "lab")
    assert store.say(name, "withdrawal", "Again.", "lab")
    assert not store.say("TG-none", "reply", "x", "y")
    put(store, chatbots("TG-2026-1123-c0de", supersedes=name))
    found = store.rating(name)
    assert found is not None
    assert [note["kind"] for note in found.notes] == ["reply", "withdrawal"]
    assert found.superseded_by == "TG-2026-1123-c0de.1"
    assert found.entry["withdrawn"]
    assert found.document["ratings"][0]["withdrawn"] is None
    assert ids(store, state="withdrawn", earlier="1") == [name]
    assert store.forbid_testing("bot", "By its terms.", "lab")
    assert len(ids(store, state="testing forbidden")) == 2


def test_tokens_are_kept_as_hashes_and_can_be_revoked(store: CatalogueStore) -> None:
    token = store.make_token("lab", "assessor")
    assert store.holder(token) == ("lab", "assessor")
    assert store.holder(token + "x") is None
    with pytest.raises(PlanError, match=r"this name has a token.*a new name.*lab, assessor.*--revoke lab"):
        store.make_token("lab", "admin")
    assert store.holder(token) == ("lab", "assessor")
    store.revoke_token("lab")
    assert store.holder(token) is None
    with pytest.raises(PlanError, match=r"revoked already. Must be the name of a token; there is none"):
        store.revoke_token("lab")
    other = store.make_token("lab", "admin")
    assert (store.holder(other), store.holder(token)) == (("lab", "admin"), None)
    with pytest.raises(PlanError, match=r"no token of this name. Must be one of: lab"):
        store.revoke_token("nobody")


def test_cards_that_another_version_drew_are_drawn_anew(store: CatalogueStore) -> None:
    put(store, two_step())
    assert store.redraw_cards() == 0
    with store.engine.begin() as connection:
        connection.execute(update(CONTENTS).values(card='{"by": "0.0 1"}'))
    assert store.redraw_cards() == len(ids(store))
    assert "headline" in store.list_ratings(RatingQuery(), TODAY).rows[0]["card"]


def test_two_at_once_add_the_same_without_loss(store: CatalogueStore) -> None:
    put(store, chatbots("TG-2026-1122-0000"))  # templates are made
    failed: list[BaseException] = []

    def add(number: int) -> None:
        try:
            for each in range(3):
                put(store, chatbots(f"TG-2026-1122-{(number + each) % 4:04x}"))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failed == []
    assert len(ids(store, earlier="1")) == 8


def test_several_processes_may_make_one_catalogue(tmp_path: Path) -> None:
    def make(errors: list[Exception]) -> None:
        try:
            open_database(f"sqlite:///{tmp_path / 'catalogue.sqlite'}").dispose()
        except Exception as error:  # what any of them meets
            errors.append(error)

    errors: list[Exception] = []
    threads = [threading.Thread(target=make, args=(errors,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_the_migrations_make_the_schema_of_the_code(store: CatalogueStore) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with store.engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={"include_name": lambda name, kind, _: kind != "table" or name in METADATA.tables},
        )
        assert compare_metadata(context, METADATA) == []
    assert "search" in inspect(store.engine).get_table_names()


def numbered(service: Mapping[str, Any]) -> bool:
    """Whether a service is not the first one of its key."""
    return bool(service["slug"] != slug_of(service["key"]))


def put_in_earlier(url: str, version: str, *documents: Any) -> list[str]:
    """Make a catalogue of an earlier schema. Returns the ids that one of today lists."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    migrate(engine, version)
    # columns since, and what a database counts itself
    later = {
        "ratings": {"number", "sound"} | ({"ended", "slight"} if version < "0004" else set()),
        "audit": {"number"},
        "services": {"identity", "place", "asked", "route"},
    }
    known = MetaData()
    known.reflect(engine)
    with tempfile.TemporaryDirectory() as folder:
        newest = CatalogueStore(f"sqlite:///{folder}/newest.sqlite")
        for one in documents:
            put(newest, one)
        with newest.engine.connect() as source, engine.begin() as target:
            for name in ("runs", "services", "ratings", "contents", "audit"):
                rows = source.execute(select(METADATA.tables[name])).mappings().all()
                kept = [{key: row[key] for key in row if key not in later.get(name, ())} for row in rows]
                if name == "services":  # their keys were unique
                    kept = [one | {"key": one["slug"] if numbered(one) else one["key"]} for one in kept]
                target.execute(known.tables[name].insert(), kept)
            words = ", to_tsvector('simple', :text))" if "postgresql" in url else ")"
            into = "search (id, text, words)" if "postgresql" in url else "search (id, text)"
            for row in source.execute(text("SELECT id, text FROM search ORDER BY id DESC")).mappings():
                target.execute(text(f"INSERT INTO {into} VALUES (:id, :text{words}"), dict(row))
            if version != "0001":
                number = "number" if "postgresql" in url else "rowid"
                target.execute(
                    text(
                        f"UPDATE ratings SET number = (SELECT {number} FROM search s WHERE s.id = ratings.id)"
                    )
                )
            job = {
                "id": "j",
                "plan": "{}",
                "state": "done",
                "stop": False,
                "owner": "",
                "beat": 0.0,
                "error": "",
            }
            target.execute(known.tables["jobs"].insert(), job | {"run": "", "began": "", "ended": ""})
        expected = ids(newest)
        newest.close()
    engine.dispose()
    return expected


@pytest.mark.parametrize("version", ["0001", "0002", "0003"])
def test_a_catalogue_of_an_earlier_schema_is_found_in_as_before(url: str, version: str) -> None:
    expected = put_in_earlier(url, version, two_step(), chatbots())
    store = CatalogueStore(url)
    assert ids(store) == expected
    assert ids(store, q="bot priv") == ["TG-2026-1122-c0de.1"]
    (job,) = JobQueue(store, url, Path()).jobs()
    assert (job["state"], job["every"]) == ("done", None)
    put(store, two_step("TG-2026-1122-beef", service="umbra"))
    assert ids(store, q="umbra") == [one for one in ids(store) if "beef" in one]
    store.close()


def test_an_earlier_catalogue_gets_the_order_of_its_runs_and_its_fuller_ratings_back(url: str) -> None:
    late = chatbots("TG-2026-1101-aaaa", tested="2026-11-01", ended="2026-11-01T12:00:00Z")
    early = chatbots("TG-2026-1101-bbbb", tested="2026-11-01", ended="2026-11-01T08:00:00Z")
    talk = chatbots("TG-2026-1102-cccc", tested="2026-11-02", provisional=True)
    put_in_earlier(url, "0002", late, early, talk)
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:  # as it marked them
        connection.execute(text("UPDATE ratings SET latest = (run = 'TG-2026-1102-cccc')"))
    engine.dispose()
    store = CatalogueStore(url)
    assert ids(store) == ["TG-2026-1101-aaaa.1", "TG-2026-1101-aaaa.2"]
    runs = [row["run"] for row in store.history("bot")]
    assert list(dict.fromkeys(runs)) == ["TG-2026-1102-cccc", "TG-2026-1101-aaaa", "TG-2026-1101-bbbb"]
    store.close()


@pytest.mark.parametrize("version", ["0001", "0004"])
def test_services_that_an_earlier_catalogue_joined_by_their_key_are_split(url: str, version: str) -> None:
    new = served("eeee", fingerprint="b" * 32, tested="2026-11-23")
    said = {"talked_with": "c" * 32, "kind": "recorded dialogs", "provisional": True}
    talk = served("ffff", **said, tested="2026-11-24")
    wanted = put_in_earlier(url, version, HTTP, SOUND, TRIP, ELSEWHERE, new, talk, two_step())
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:  # as it kept them
        connection.execute(text("UPDATE ratings SET service = 'mine' WHERE service LIKE 'mine-%'"))
        connection.execute(text("UPDATE ratings SET latest = (run LIKE '%ffff') WHERE service = 'mine'"))
        connection.execute(text("DELETE FROM services WHERE slug LIKE 'mine-%'"))
        connection.execute(
            text("UPDATE services SET testing = 'forbidden', kind = 'recorded dialogs' WHERE slug = 'mine'")
        )
    engine.dispose()
    store = CatalogueStore(url)
    found = {slug: sorted(runs) for slug, runs in services(store).items() if "mine" in slug}
    assert found == {"mine": ["aaaa", "dddd"], "mine-2": ["cccc", "ffff"], "mine-3": ["bbbb", "eeee"]}
    assert ids(store) == wanted
    rows = {row["slug"]: row for row in store.services() if row["key"] == "mine"}
    assert [rows[one]["kind"] for one in sorted(rows)] == [
        "HTTP service",
        "HTTP service, there and back",
        "HTTP service",
    ]
    assert {row["testing"] for row in rows.values()} == {"forbidden"}
    put(store, served("9999", fingerprint="b" * 32, place="p" * 32))
    assert "9999" in services(store)["mine-3"]
    assert services(store)["anchor-coin-" + slug_of("anchor/coin")[-8:]]
    store.close()


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("run", "id"), "../../etc/passwd"),
        (("run", "id"), "a" * 200),
        (("ratings", 0, "id"), "TG-2026-1122-ffff"),
        (("ratings", 0, "tested"), "yesterday"),
        (("ratings", 0, "overall", "certainty"), {"L": "<b>"}),
        (("ratings", 0, "overall", "certainty"), {"L": 0.0, "M": 0.04, "H": 0.5}),
        (("ratings", 0, "overall", "words"), "No risk at all"),
        (("ratings", 0, "overall", "ordinal"), 9),
        (("ratings", 0, "parts", 0, "certainty"), {"L": 0.2, "M": 0.2, "H": 0.2, "none": 0.4}),
        (("ratings", 0, "overall"), {}),
        (("ratings", 0, "assessor", "name"), "\ud800"),
        (("ratings", 0, "assessor", "name"), "x" * 25_000_000),
        (("ratings", 0, "details"), {"nan": float("nan")}),
        (("ratings",), "none"),
    ],
)
def test_hostile_documents_are_refused(small: CatalogueStore, place: tuple[Any, ...], value: Any) -> None:
    result: Any = chatbots()
    inner = result
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    with pytest.raises(CatalogueError):
        small.add(result, actor="lab")
    assert ids(small, earlier="1") == []


def test_hostile_texts_are_kept_and_inert(store: CatalogueStore) -> None:
    result, _ = hostile.case()
    store.add(result, actor="<script>\x1b[2J\0")
    found = store.list_ratings(RatingQuery(), TODAY).rows
    assert found
    assert all("\x1b" not in row["name"] and "\0" not in row["name"] for row in found)


def test_slugs_stand_in_addresses() -> None:
    assert slug_of("apertium") == "apertium"
    named = [slug_of(one) for one in ("../x", "a/b", "A b", "a b", "", "…", "a" * 500)]
    assert len(set(named)) == len(named)
    assert all(one == one.lower() and "/" not in one and 0 < len(one) <= 80 for one in named)
