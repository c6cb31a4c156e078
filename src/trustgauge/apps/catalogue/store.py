"""What the catalogue keeps and finds: ratings by their documents, and what people say of them.

Every method of `CatalogueStore` is one transaction. Documents come in by `add`, which is idempotent: a
document that is known already changes nothing. What comes from outside is checked before it is kept.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from sqlalchemy import (
    Connection,
    Engine,
    RowMapping,
    Select,
    and_,
    func,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from trustgauge.apps.catalogue.cards import card, columns, own_version, utc
from trustgauge.apps.catalogue.document_check import check_document
from trustgauge.apps.catalogue.identity import keep_service
from trustgauge.apps.catalogue.queries import (
    LIST_ORDER,
    NEWEST,
    RatingQuery,
    rows_after,
)
from trustgauge.apps.catalogue.schema import (
    AUDIT,
    CONTENTS,
    NOTES,
    RATINGS,
    REVISIONS,
    RUNS,
    SERVICES,
    TOKENS,
    open_database,
)
from trustgauge.errors import PlanError, PublishedError
from trustgauge.records import canonical
from trustgauge.reports import label, sentences
from trustgauge.reports.document import fingerprint, is_slight
from trustgauge.reports.document_model import RatingEntry, RunDocument
from trustgauge.reports.sanitize import visible

DATABASE = "catalogue.sqlite"
"""In the folder of ratings, where no other database is named."""
Role = Literal["reader", "assessor", "admin"]
ROLES: tuple[Role, ...] = ("reader", "assessor", "admin")
_SHOWN = tuple(SERVICES.c[one] for one in ("name", "key", "kind", "route", "testing"))
"""What lists show of the service of a rating."""


@dataclass(frozen=True, slots=True)
class RatingPage:
    """Some rows of a list, the cursor of the next page, "" at its end, and how many rows all pages have."""

    rows: Sequence[RowMapping]
    after: str
    total: int


@dataclass(frozen=True, slots=True)
class CatalogueRating:
    """One rating with all that stands beside it."""

    row: RowMapping
    document: RunDocument  # of this rating only
    notes: Sequence[RowMapping]
    revisions: Sequence[RowMapping]
    superseded_by: str

    @property
    def entry(self) -> RatingEntry:
        """The rating as its views show it, with the date of its withdrawal; its document has none."""
        return {**self.document["ratings"][0], "withdrawn": self.row["withdrawn"] or None}

    @property
    def shown(self) -> RunDocument:
        """The document as its views show it."""
        return {**self.document, "ratings": [self.entry]}


def default_database(ratings: Path) -> str:
    """The address of the catalogue of a folder of ratings."""
    return f"sqlite:///{(ratings / DATABASE).resolve()}"


_OF_ANSWERS = ("tree", "hashes", "started", "ended", "seed")
"""What of a run stays as it is while people read its answers."""


class CatalogueStore:
    """The catalogue in a database.

    Args:
        url: `sqlite:///FILE` or `postgresql://USER@HOST/NAME`.
    """

    def __init__(self, url: str) -> None:
        self.engine: Engine = open_database(url)
        self._choices: tuple[int, dict[str, list[tuple[str, int]]]] = (-1, {})
        self.is_postgresql = self.engine.dialect.name == "postgresql"

    def close(self) -> None:
        self.engine.dispose()

    def scalar(self, query: Select[Any]) -> Any:
        """The first value that a query finds; None if it finds none."""
        with self.engine.connect() as connection:
            return connection.execute(query).scalar()

    def rows(self, query: Select[Any]) -> Sequence[RowMapping]:
        """All rows that a query finds."""
        with self.engine.connect() as connection:
            return connection.execute(query).mappings().all()

    def add(
        self,
        document: Any,
        *,
        actor: str,
        folder: str = "",
        evidence: bytes | None = None,
        quotations: Sequence[Sequence[Mapping[str, Any]]] = (),
        is_checked: bool = False,
    ) -> list[str]:
        """Take in the document of a run. Returns the ids of the ratings that are new or changed.

        Args:
            document: a `rating.json`, as it was read.
            actor: who publishes it.
            folder: its run folder, if that lies on this machine; only then may a known rating change.
            evidence: its rows as Parquet.
            quotations: of each rating, those of the first screen.
            is_checked: it was made by ourselves a moment ago, and is not tried out.

        Raises:
            CatalogueError: it is no rating document, cannot be shown, or changes what was published already.
        """
        checked = document if is_checked else check_document(document)
        add = partial(self._add, checked, actor, {"folder": folder, "evidence": evidence}, quotations)
        try:
            return add()
        except IntegrityError:  # another process took in the same a moment ago
            return add()

    def _add(
        self,
        checked: RunDocument,
        actor: str,
        kept: Mapping[str, Any],
        quotations: Sequence[Sequence[Mapping[str, Any]]],
    ) -> list[str]:
        run, at = checked["run"], datetime.now(UTC).isoformat(timespec="microseconds")
        folder = kept["folder"]
        header = canonical({**checked, "ratings": []})
        whole = fingerprint(checked)
        changed: list[str] = []
        with self.engine.begin() as connection:
            known = connection.execute(
                select(RUNS.c.hash, RUNS.c.folder, RUNS.c.header).where(RUNS.c.id == run["id"])
            ).first()
            if known is not None and known.hash == whole:
                return []
            if known is not None and not (
                known.folder == folder
                if known.folder or folder
                else self._is_same_run(connection, checked, known.header, actor)
            ):
                raise PublishedError(
                    f"run {run['id']} was published with different content",
                    must="what was published; the same answers read again, as after an audit, by who "
                    "published them; or a run with a different id",
                    do="`trustgauge rate --fresh` makes another run; `trustgauge withdraw` marks this one",
                )
            values = {"hash": whole, "header": header, **kept}
            if known is None:
                connection.execute(RUNS.insert().values(id=run["id"], **values))
            else:
                connection.execute(update(RUNS).where(RUNS.c.id == run["id"]).values(**values))
            for place, rating in enumerate(checked["ratings"], start=1):
                quoted = quotations[place - 1] if place <= len(quotations) else ()
                if self._add_rating(connection, checked, place, json.dumps(list(quoted)), at):
                    changed.append(rating["id"])
            for one in changed:
                self._log(connection, actor, "published", one, {"run": run["id"]})
        return changed

    def _is_same_run(self, connection: Connection, document: RunDocument, header: str, actor: str) -> bool:
        """Whether it rates the very answers that its publisher published before, as after an audit."""
        before, run = json.loads(header)["run"], document["run"]
        published = (
            select(RATINGS.c.id, AUDIT.c.actor)
            .join(AUDIT, (AUDIT.c.subject == RATINGS.c.id) & (AUDIT.c.action == "published"))
            .where(RATINGS.c.run == run["id"])
        )
        rows = {tuple(row) for row in connection.execute(published)}
        name = visible(actor)[:200]
        return (
            bool(run.get("tree"))
            and all(before.get(fact) == run.get(fact) for fact in _OF_ANSWERS)
            and {(one["id"], name) for one in document["ratings"]} == rows
        )

    def _add_rating(
        self, connection: Connection, document: RunDocument, place: int, quotations: str, at: str
    ) -> bool:
        rating = document["ratings"][place - 1]
        alone: RunDocument = {**document, "ratings": [rating]}
        slug = keep_service(connection, rating, document, self._insert(SERVICES).on_conflict_do_nothing())
        values = columns(rating) | {
            "ended": utc(document["run"]["ended"]),
            "slight": is_slight(rating),
            "run": document["run"]["id"],
            "place": place,
            "hash": fingerprint(alone),
            "service": slug,
        }
        content = {"entry": canonical(rating), "quotations": quotations, "card": json.dumps(card(rating))}
        before = connection.execute(
            select(RATINGS.c.hash, CONTENTS.c.entry, RATINGS.c.run)
            .join(CONTENTS)
            .where(RATINGS.c.id == rating["id"])
        ).first()
        if before is None:
            connection.execute(
                RATINGS.insert().values(id=rating["id"], received=at, latest=True, withdrawn="", **values)
            )
            connection.execute(CONTENTS.insert().values(rating=rating["id"], **content))
        elif before.run != document["run"]["id"]:
            raise PublishedError(f"rating {rating['id']} belongs to run {before.run}")
        elif before.hash == values["hash"]:
            return False
        else:
            connection.execute(
                REVISIONS.insert().values(
                    rating=rating["id"], hash=before.hash, entry=before.entry, replaced=at
                )
            )
            connection.execute(update(RATINGS).where(RATINGS.c.id == rating["id"]).values(**values))
            connection.execute(update(CONTENTS).where(CONTENTS.c.rating == rating["id"]).values(**content))
        self._index(connection, rating)
        self._set_latest(connection, rating["id"])
        return True

    def _insert(self, table: Any) -> Any:
        return postgresql.insert(table) if self.is_postgresql else sqlite.insert(table)

    def _index(self, connection: Connection, rating: RatingEntry) -> None:
        said = " ".join(
            visible(str(one))
            for one in (
                rating["id"], rating["service"]["key"], rating["service"]["name"], rating["service"]["kind"],
                rating["service"]["provider"], rating["service"]["version"], rating["method"]["name"],
                rating["issue"]["attribute"], label.issue(rating), label.outcome(rating),
                sentences.headline(rating), rating["assessor"]["name"],
            )
        )[:4000]  # fmt: skip
        known = select(RATINGS.c.number).where(RATINGS.c.id == rating["id"])
        facts = {"id": rating["id"], "text": said, "number": connection.execute(known).scalar()}
        row = "number" if self.is_postgresql else "rowid"
        connection.execute(text(f"DELETE FROM search WHERE {row} = :number"), facts)
        if self.is_postgresql:
            words = "INSERT INTO search (id, text, words) VALUES (:id, :text, to_tsvector('simple', :text))"
            number = connection.execute(text(f"{words} RETURNING number"), facts).scalar_one()
        else:  # a virtual table returns nothing
            number = connection.execute(
                text("INSERT INTO search (id, text) VALUES (:id, :text)"), facts
            ).lastrowid
        connection.execute(update(RATINGS).where(RATINGS.c.id == rating["id"]).values(number=number))

    def _set_latest(self, connection: Connection, rating: str) -> None:
        """Mark the newest rating of the series that this one belongs to; a slight one only if all are."""
        keys = ("service", "method", "rule", "dimension", "assessor")
        series = connection.execute(
            select(*(RATINGS.c[key] for key in keys)).where(RATINGS.c.id == rating)
        ).one()
        same = and_(*(RATINGS.c[key] == value for key, value in zip(keys, series, strict=True)))
        newest = select(RATINGS.c.id).where(same).order_by(RATINGS.c.slight, *NEWEST).limit(1)
        first = connection.execute(newest).scalar_one()
        connection.execute(update(RATINGS).where(same).values(latest=RATINGS.c.id == first))

    def list_ratings(self, query: RatingQuery, today: date, limit: int = 50) -> RatingPage:
        """A page of the list: the newest first, or the best first with equal levels beside each other."""
        by_level = query.order == "best"
        order = (
            (RATINGS.c.badness, RATINGS.c.id)
            if by_level
            else (*(RATINGS.c[one].desc() for one in LIST_ORDER[:-1]), RATINGS.c.place)
        )
        narrow = (
            query.selection(today, RATINGS.c.id, is_postgresql=self.is_postgresql)
            .order_by(*order)
            .limit(limit + 1)
        )
        if query.after:
            narrow = narrow.where(rows_after(query.after, by_level=by_level))
        wide = select(RATINGS, CONTENTS.c.card, *_SHOWN)
        wide = wide.join(SERVICES).join(CONTENTS).order_by(*order)
        with self.engine.connect() as connection:
            names = connection.execute(narrow).scalars().all()
            rows = connection.execute(wide.where(RATINGS.c.id.in_(names))).mappings().all()
        is_whole = len(rows) <= limit and not query.after
        total = len(rows) if is_whole else self.count(query, today)
        last = rows[limit - 1] if len(rows) > limit else None
        keys = ("badness", "id") if by_level else LIST_ORDER
        after = "|".join(str(last[key]) for key in keys) if last else ""
        return RatingPage(rows[:limit], after, total)

    def count(self, query: RatingQuery, today: date) -> int:
        """How many ratings a query finds."""
        return int(self.scalar(query.selection(today, func.count(), is_postgresql=self.is_postgresql)))

    def level_counts(self, query: RatingQuery, today: date) -> list[tuple[int, int]]:
        """Of what a query finds: each badness, best first, and how many ratings have it."""
        columns = RATINGS.c.badness, func.count()
        chosen = query.selection(today, *columns, is_postgresql=self.is_postgresql).group_by(
            RATINGS.c.badness
        )
        with self.engine.connect() as connection:
            rows = connection.execute(chosen.order_by(RATINGS.c.badness)).all()
        return [(int(badness), int(count)) for badness, count in rows]

    def run_hash(self, run: str) -> str:
        """The hash of a run's document; "" if it is not here."""
        return self.scalar(select(RUNS.c.hash).where(RUNS.c.id == run)) or ""

    def run_folder(self, run: str) -> str:
        """The folder of a run on this machine; "" if it was published from elsewhere, or is not here."""
        return self.scalar(select(RUNS.c.folder).where(RUNS.c.id == run)) or ""

    def choices(self) -> dict[str, list[tuple[str, int]]]:
        """What each filter can be set to, with the number of latest ratings; counted again after a change."""
        found: dict[str, list[tuple[str, int]]] = {}
        with self.engine.connect() as connection:
            last = connection.execute(select(func.max(AUDIT.c.number))).scalar() or 0
            before, known = self._choices
            if before == last:
                return known
            for name in ("task", "method", "dimension", "rule", "level", "assessor"):
                column = RATINGS.c[name]
                rows = connection.execute(
                    select(column, func.count())
                    .where(RATINGS.c.latest, column != "")
                    .group_by(column)
                    .order_by(column)
                    .limit(200)
                )
                found[name] = [(str(value), int(count)) for value, count in rows]
            spoken = connection.execute(
                select(RATINGS.c.languages, func.count())
                .where(RATINGS.c.latest)
                .group_by(RATINGS.c.languages)
            ).all()
        counted: Counter[str] = Counter()
        for languages, count in spoken:
            counted.update(dict.fromkeys(languages.split(), int(count)))
        found["language"] = sorted(counted.items())
        self._choices = (last, found)
        return found

    def rating(self, name: str) -> CatalogueRating | None:
        """A rating by its id, with all that was said of it."""
        with self.engine.connect() as connection:
            columns = (
                *(CONTENTS.c[name] for name in ("entry", "quotations", "card")),
                *(RUNS.c.header, RUNS.c.folder, RUNS.c.evidence.is_not(None).label("has_evidence")),
                *(SERVICES.c.name, SERVICES.c.testing),
            )
            found = select(RATINGS, *columns).join(RUNS).join(SERVICES).join(CONTENTS)
            row = connection.execute(found.where(RATINGS.c.id == name)).mappings().first()
            if row is None:
                return None
            notes = select(NOTES).where(NOTES.c.rating == name).order_by(NOTES.c.number)
            older = select(REVISIONS).where(REVISIONS.c.rating == name).order_by(REVISIONS.c.number)
            newer = select(RATINGS.c.id).where(RATINGS.c.supersedes == name).order_by(RATINGS.c.id).limit(1)
            return CatalogueRating(
                row,
                document_of(row),
                connection.execute(notes).mappings().all(),
                connection.execute(older).mappings().all(),
                connection.execute(newer).scalar() or "",
            )

    def redraw_cards(self) -> int:
        """Draw the cards of lists again that another version drew. Returns how many."""
        drawn = 0
        while True:
            old = ~CONTENTS.c.card.contains(json.dumps({"by": own_version()})[1:-1], autoescape=True)
            with self.engine.begin() as connection:
                rows = connection.execute(
                    select(CONTENTS.c.rating, CONTENTS.c.entry).where(old).limit(200)
                ).all()
                for name, entry in rows:
                    values = {"card": json.dumps(card(json.loads(entry)))}
                    connection.execute(update(CONTENTS).where(CONTENTS.c.rating == name).values(**values))
            drawn += len(rows)
            if len(rows) < 200:
                return drawn

    def ratings_of_run(self, run: str) -> list[str]:
        """Ids of the ratings of a run, in their order."""
        chosen = select(RATINGS.c.id).where(RATINGS.c.run == run).order_by(RATINGS.c.place)
        with self.engine.connect() as connection:
            return [str(one) for one in connection.execute(chosen).scalars()]

    def evidence(self, run: str) -> bytes | None:
        """The evidence of a run as Parquet, if it was published."""
        found: bytes | None = self.scalar(select(RUNS.c.evidence).where(RUNS.c.id == run))
        return found

    def service(self, slug: str) -> RowMapping | None:
        """A service by its name in addresses."""
        return next(iter(self.rows(select(SERVICES).where(SERVICES.c.slug == slug))), None)

    def services(self) -> Sequence[RowMapping]:
        """All services, by name."""
        return self.rows(select(SERVICES).order_by(SERVICES.c.name, SERVICES.c.slug))

    def services_of_key(self, key: str) -> Sequence[RowMapping]:
        """All services that plans call by a key, the first one first."""
        chosen = select(SERVICES).where(SERVICES.c.key == key)
        return self.rows(chosen.order_by(func.length(SERVICES.c.slug), SERVICES.c.slug))

    def history(self, slug: str, limit: int = 500) -> Sequence[RowMapping]:
        """All ratings of a service, the newest first."""
        chosen: Select[Any] = (
            select(RATINGS, CONTENTS.c.entry, CONTENTS.c.card).join(CONTENTS).where(RATINGS.c.service == slug)
        ).order_by(*NEWEST)
        return self.rows(chosen.limit(limit))

    def forbid_testing(self, slug: str, note: str, actor: str, *, forbidden: bool = True) -> bool:
        """Say that the provider of a service forbids tests of it. Returns whether there is such a service."""
        with self.engine.begin() as connection:
            done = connection.execute(
                update(SERVICES)
                .where(SERVICES.c.slug == slug)
                .values(testing="forbidden" if forbidden else "", note=visible(note)[:2000])
            )
            if done.rowcount:
                self._log(connection, actor, "testing", slug, {"forbidden": forbidden})
            return bool(done.rowcount)

    def say(
        self, rating: str, kind: Literal["correction", "withdrawal", "reply"], said: str, author: str
    ) -> bool:
        """Add a note to a rating; a withdrawal also dates it. Returns whether there is such a rating."""
        at = now()
        with self.engine.begin() as connection:
            row = connection.execute(select(RATINGS.c.withdrawn).where(RATINGS.c.id == rating)).first()
            if row is None:
                return False
            if kind == "withdrawal" and row.withdrawn:
                return True
            words = said[:10_000].encode("utf-8", "replace").decode().replace("\0", "�")
            connection.execute(
                NOTES.insert().values(rating=rating, kind=kind, text=words, author=author, at=at)
            )
            if kind == "withdrawal":
                connection.execute(update(RATINGS).where(RATINGS.c.id == rating).values(withdrawn=at[:10]))
            action = {"correction": "corrected", "withdrawal": "withdrawn", "reply": "replied"}[kind]
            self._log(connection, author, action, rating, {})
            return True

    def publisher(self, rating: str) -> str:
        """Who published a rating; "" if that is not on record."""
        chosen = (
            select(AUDIT.c.actor)
            .where(AUDIT.c.subject == rating, AUDIT.c.action == "published")
            .order_by(AUDIT.c.number)
            .limit(1)
        )
        return self.scalar(chosen) or ""

    def changes(self, after: int = 0, limit: int = 50, *, newest: bool = False) -> Sequence[RowMapping]:
        """Entries of the audit log behind a number, the oldest first; or its last ones, the newest first."""
        order = AUDIT.c.number.desc() if newest else AUDIT.c.number
        return self.rows(select(AUDIT).where(AUDIT.c.number > after).order_by(order).limit(limit))

    def last_change(self) -> int:
        """The number of the last entry of the audit log; 0 for none."""
        return int(self.scalar(select(func.max(AUDIT.c.number))) or 0)

    def record(self, actor: str, action: str, subject: str, facts: Mapping[str, Any] | None = None) -> None:
        """Write a line of the audit log."""
        with self.engine.begin() as connection:
            self._log(connection, actor, action, subject, facts or {})

    def _log(
        self, connection: Connection, actor: str, action: str, subject: str, facts: Mapping[str, Any]
    ) -> None:
        connection.execute(
            AUDIT.insert().values(
                at=now(),
                actor=visible(actor)[:200],
                action=action,
                subject=subject,
                facts=canonical(dict(facts)),
            )
        )

    def make_token(self, name: str, role: Role) -> str:
        """A new token; the catalogue keeps its hash only. The name of a revoked one may be used again.

        Raises:
            PlanError: there is a token of this name.
        """
        token = f"tg_{secrets.token_urlsafe(32)}"
        values = {"role": role, "hash": _token_hash(token), "made": now(), "revoked": ""}
        with self.engine.begin() as connection:
            made = self._insert(TOKENS).values(name=name, **values)
            again = made.on_conflict_do_update(
                index_elements=["name"], set_=values, where=TOKENS.c.revoked != ""
            )
            if connection.execute(again.returning(TOKENS.c.name)).first() is None:
                row = connection.execute(select(TOKENS).where(TOKENS.c.name == name)).one()
                got = f"{name}, {row.role}, made {row.made[:10]}"
                do = f"`trustgauge serve --revoke {shlex.quote(name)}` first, if it shall be replaced"
                raise PlanError.of("--token", "this name has a token", "a new name", got, do)
            self._log(connection, name, "token", name, {"role": role})
        return token

    def revoke_token(self, name: str) -> None:
        """Make a token worthless.

        Raises:
            PlanError: there is no token of this name, or it was revoked before.
        """
        with self.engine.begin() as connection:
            valid = and_(TOKENS.c.name == name, TOKENS.c.revoked == "")
            if connection.execute(update(TOKENS).where(valid).values(revoked=now())).rowcount:
                return
            every = connection.execute(select(TOKENS).order_by(TOKENS.c.name)).all()
        before = next((one for one in every if one.name == name), None)
        what = "no token of this name" if before is None else "this token is revoked already"
        got = name if before is None else f"{name}, revoked {before.revoked[:10]}"
        active = [one.name for one in every if not one.revoked]
        must = f"one of: {', '.join(active)}" if active else "the name of a token; there is none"
        do = "`trustgauge serve --token NAME` makes one" if before is None else "Nobody can use it any more"
        raise PlanError.of("--revoke", what, must, got, do)

    def holder(self, token: str) -> tuple[str, Role] | None:
        """Name and role of whoever holds a token; None if nobody does."""
        with self.engine.connect() as connection:
            row = connection.execute(
                select(TOKENS.c.name, TOKENS.c.role).where(
                    TOKENS.c.hash == _token_hash(token), TOKENS.c.revoked == ""
                )
            ).first()
        return None if row is None else (str(row.name), cast("Role", row.role))


def document_of(row: RowMapping) -> RunDocument:
    """The document of one rating, from its row and the header of its run."""
    return cast("RunDocument", {**json.loads(row["header"]), "ratings": [json.loads(row["entry"])]})


def _token_hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()  # of 256 random bits: needs no salt


def now() -> str:
    """The time in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")
