"""Changes of the catalogue as an Atom feed (RFC 4287)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from trustgauge.apps.catalogue.cards import read_card
from trustgauge.reports.sanitize import xml

if TYPE_CHECKING:
    from trustgauge.apps.catalogue.store import CatalogueStore

MOST = 100
WORDS = {
    "published": "Rating published",
    "withdrawn": "Rating withdrawn",
    "corrected": "Rating corrected",
    "replied": "Provider replied",
    "changed": "Level changed",
}
"""Actions of the audit log that readers hear of."""


def atom(store: CatalogueStore, address: str) -> str:
    """The feed of the last changes, newest first.

    Args:
        store: the catalogue.
        address: where it is reached, with a slash at its end.
    """
    entries, updated = [], "1970-01-01T00:00:00+00:00"
    for change in store.changes(limit=MOST, newest=True):
        if change["action"] not in WORDS:
            continue
        found = store.rating(change["subject"])
        if found is None:
            continue
        updated = max(updated, change["at"])
        card = read_card(found.row["card"])
        link = f"{address}r/{change['subject']}/"
        title = f"{WORDS[change['action']]}: {found.row['name']}, {card['issue']}: {card['outcome']}"
        entries.append(
            f"<entry><id>{xml(link)}#{change['number']}</id><title>{xml(title)}</title>"
            f"<updated>{change['at']}</updated><link href={quoteattr(link)}/>"
            f"<author><name>{xml(change['actor'])}</name></author>"
            f"<summary>{xml(card['headline'])}</summary></entry>"
        )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">'
        f"<id>{xml(address)}</id><title>trustgauge catalogue: changes</title><updated>{updated}</updated>"
        f'<link rel="self" href={quoteattr(address + "feed.atom")}/><link href={quoteattr(address)}/>'
        f"{''.join(entries)}</feed>\n"
    )
