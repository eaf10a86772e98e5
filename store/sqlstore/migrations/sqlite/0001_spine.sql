-- The first schema. The tenant is first in every primary key. Times are
-- microseconds since 1970 in UTC, flags 0 or 1, hashes 32 bytes (none: empty),
-- lists JSON. Only what may be absent in meaning is NULL.
--
-- Tables of small rows are WITHOUT ROWID; those that hold long texts are not,
-- since long rows do badly in an index tree.

CREATE TABLE tenants (
  id         TEXT NOT NULL PRIMARY KEY,
  name       TEXT NOT NULL,
  kid        TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE spaces (
  tenant       TEXT NOT NULL,
  id           TEXT NOT NULL,
  name         TEXT NOT NULL,
  description  TEXT NOT NULL,
  project_root TEXT NOT NULL,
  owner        TEXT NOT NULL,
  home         INTEGER NOT NULL CHECK (home IN (0, 1)),
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  deleted_at   INTEGER,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX spaces_by_name ON spaces (tenant, name, created_at, id);
CREATE INDEX spaces_by_owner ON spaces (tenant, owner, id) WHERE home = 1;

CREATE TABLE epochs (
  tenant      TEXT NOT NULL,
  space       TEXT NOT NULL,
  generation  INTEGER NOT NULL,
  fence       INTEGER NOT NULL,
  acl_version INTEGER NOT NULL,
  head        INTEGER NOT NULL,
  PRIMARY KEY (tenant, space)
) STRICT, WITHOUT ROWID;

CREATE TABLE changes (
  tenant TEXT NOT NULL,
  space  TEXT NOT NULL,
  seq    INTEGER NOT NULL,
  kind   TEXT NOT NULL,
  ref    TEXT NOT NULL,
  at     INTEGER NOT NULL,
  PRIMARY KEY (tenant, space, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
  tenant         TEXT NOT NULL,
  id             TEXT NOT NULL,
  space          TEXT NOT NULL,
  kind           TEXT NOT NULL,
  fresh          INTEGER NOT NULL CHECK (fresh IN (0, 1)),
  title          TEXT NOT NULL,
  provider       TEXT NOT NULL,
  model          TEXT NOT NULL,
  branch         TEXT NOT NULL,
  seeded         BLOB NOT NULL,
  forked_from    BLOB NOT NULL,
  forked_session TEXT NOT NULL,
  forked_seq     INTEGER NOT NULL,
  -- all four are NULL when nothing is mounted
  mount_checkpoint BLOB,
  mount_depth      INTEGER,
  mount_base       INTEGER,
  mount_at         INTEGER,
  last_seq       INTEGER NOT NULL,
  owner          TEXT NOT NULL,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  deleted_at     INTEGER,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_update ON sessions (tenant, space, updated_at, id);

CREATE TABLE chains (
  tenant  TEXT NOT NULL,
  space   TEXT NOT NULL,
  hash    BLOB NOT NULL,
  seq     INTEGER NOT NULL,
  session TEXT NOT NULL,
  PRIMARY KEY (tenant, space, hash, seq, session)
) STRICT, WITHOUT ROWID;

CREATE TABLE hints (
  tenant  TEXT NOT NULL,
  space   TEXT NOT NULL,
  hint    BLOB NOT NULL,
  session TEXT NOT NULL,
  PRIMARY KEY (tenant, space, hint)
) STRICT, WITHOUT ROWID;

-- space is where the turn was written; it is where its session is.
CREATE TABLE turns (
  tenant      TEXT NOT NULL,
  session     TEXT NOT NULL,
  seq         INTEGER NOT NULL CHECK (seq >= 1),
  space       TEXT NOT NULL,
  id          TEXT NOT NULL,
  parent      INTEGER NOT NULL,
  began_after INTEGER NOT NULL,
  role        TEXT NOT NULL,
  speaker     TEXT NOT NULL,
  content     TEXT NOT NULL,
  provider    TEXT NOT NULL,
  model       TEXT NOT NULL,
  interim     INTEGER NOT NULL CHECK (interim IN (0, 1)),
  truncated   INTEGER NOT NULL CHECK (truncated IN (0, 1)),
  backfill    INTEGER NOT NULL CHECK (backfill IN (0, 1)),
  redacted    INTEGER NOT NULL CHECK (redacted IN (0, 1)),
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (tenant, session, seq)
) STRICT;

CREATE TABLE checkpoints (
  tenant         TEXT NOT NULL,
  space          TEXT NOT NULL,
  hash           BLOB NOT NULL,
  id             TEXT NOT NULL,
  parents        TEXT NOT NULL,
  branch         TEXT NOT NULL,
  created_at     INTEGER NOT NULL,
  author         TEXT NOT NULL,
  window_session TEXT NOT NULL,
  window_base    INTEGER NOT NULL,
  window_through INTEGER NOT NULL,
  generation     INTEGER NOT NULL,
  PRIMARY KEY (tenant, space, hash),
  UNIQUE (tenant, hash),
  UNIQUE (tenant, id)
) STRICT;
CREATE INDEX checkpoints_by_time ON checkpoints (tenant, space, created_at, hash);

-- One row for each item, so that one item can be redacted.
CREATE TABLE checkpoint_items (
  tenant     TEXT NOT NULL,
  space      TEXT NOT NULL,
  checkpoint BLOB NOT NULL,
  ord        INTEGER NOT NULL,
  id         TEXT NOT NULL,
  kind       TEXT NOT NULL,
  text       TEXT NOT NULL,
  attrs      TEXT NOT NULL,
  cites      TEXT NOT NULL,
  salt       BLOB NOT NULL,
  digest     BLOB NOT NULL,
  redacted   INTEGER NOT NULL CHECK (redacted IN (0, 1)),
  PRIMARY KEY (tenant, space, checkpoint, ord),
  FOREIGN KEY (tenant, space, checkpoint) REFERENCES checkpoints (tenant, space, hash) ON DELETE CASCADE
) STRICT;

CREATE TABLE branches (
  tenant      TEXT NOT NULL,
  space       TEXT NOT NULL,
  name        TEXT NOT NULL,
  head        BLOB NOT NULL,
  disposition TEXT NOT NULL,
  updated_at  INTEGER NOT NULL,
  PRIMARY KEY (tenant, space, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE sources (
  tenant     TEXT NOT NULL,
  space      TEXT NOT NULL,
  generation INTEGER NOT NULL,
  id         TEXT NOT NULL,
  class      TEXT NOT NULL,
  state      TEXT NOT NULL,
  held_for   TEXT NOT NULL,
  role       TEXT NOT NULL,
  digest     BLOB NOT NULL,
  size       INTEGER NOT NULL,
  event_time INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  mac        BLOB NOT NULL,
  kid        TEXT NOT NULL,
  PRIMARY KEY (tenant, space, generation, id)
) STRICT, WITHOUT ROWID;

-- ord is the order in which a source's references were added. The UNIQUE key
-- is also the way from a turn to its sources.
CREATE TABLE source_references (
  tenant     TEXT NOT NULL,
  space      TEXT NOT NULL,
  generation INTEGER NOT NULL,
  source     TEXT NOT NULL,
  ord        INTEGER NOT NULL,
  session    TEXT NOT NULL,
  seq        INTEGER NOT NULL,
  checkpoint BLOB NOT NULL,
  item       TEXT NOT NULL,
  PRIMARY KEY (tenant, space, generation, source, ord),
  UNIQUE (tenant, space, generation, session, seq, source, checkpoint, item)
) STRICT, WITHOUT ROWID;

CREATE TABLE tombstones (
  tenant     TEXT NOT NULL,
  space      TEXT NOT NULL,
  generation INTEGER NOT NULL,
  source     TEXT NOT NULL,
  state      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, space, generation, source)
) STRICT, WITHOUT ROWID;

-- doc is the receipt as JSON; the columns beside it are those queried.
CREATE TABLE receipts (
  tenant  TEXT NOT NULL,
  id      TEXT NOT NULL,
  space   TEXT NOT NULL,
  session TEXT NOT NULL,
  kind    TEXT NOT NULL,
  doc     TEXT NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX receipts_by_space ON receipts (tenant, space, id);
CREATE INDEX receipts_by_session ON receipts (tenant, session, id) WHERE session <> '';

CREATE TABLE keys (
  tenant     TEXT NOT NULL,
  id         TEXT NOT NULL,
  hash       BLOB NOT NULL UNIQUE,
  name       TEXT NOT NULL,
  label      TEXT NOT NULL,
  test       INTEGER NOT NULL CHECK (test IN (0, 1)),
  scopes     TEXT NOT NULL,
  space      TEXT NOT NULL,
  spaces     TEXT NOT NULL,
  provider   TEXT NOT NULL,
  owner      TEXT NOT NULL,
  maker      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
