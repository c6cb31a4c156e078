-- The schema of a run's store, version 3. The migrations lead to exactly this (tests/store/test_migrations.py).

-- One row an answer: cache and evidence at once. A row with status 'failed' counts as pending.
CREATE TABLE response (
  fingerprint TEXT NOT NULL,           -- of the service: all that may change an answer
  message     TEXT NOT NULL,           -- records.Message.key
  draw        INTEGER NOT NULL,
  text        TEXT NOT NULL,           -- what was sent
  status      TEXT NOT NULL,           -- records.Status
  output      TEXT,
  trail       TEXT NOT NULL,           -- JSON list of intermediate texts
  error       TEXT NOT NULL,
  detail      TEXT NOT NULL,
  millis      REAL NOT NULL,
  attempts    INTEGER NOT NULL,        -- of all sittings
  tokens      INTEGER NOT NULL,
  usd         REAL NOT NULL,
  at          TEXT NOT NULL,           -- ISO 8601, UTC
  script      TEXT NOT NULL,           -- of a session turn: what its key is derived from, else ''
  origin      TEXT NOT NULL,           -- the run it was copied from, '' if asked in this run
  UNIQUE (fingerprint, message, draw)
) STRICT;

CREATE TABLE document (
  name TEXT NOT NULL PRIMARY KEY,      -- "summary/...", "rating/...", "reason/..."
  text TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;

CREATE TABLE probe (
  experiment TEXT NOT NULL,
  id         TEXT NOT NULL,
  message    TEXT NOT NULL,            -- the text sent
  session    TEXT NOT NULL,
  turn       INTEGER NOT NULL,
  draw       INTEGER NOT NULL,
  block      TEXT NOT NULL,
  factors    TEXT NOT NULL,            -- JSON object of the method's own columns
  UNIQUE (experiment, id)
) STRICT;

CREATE TABLE meta (
  key   TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;
