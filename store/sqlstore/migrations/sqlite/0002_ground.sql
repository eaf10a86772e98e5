-- The ground: the rest of the rows. The rules of 0001 hold; rows of the
-- installation have the tenant ''. Tables that are searched by an index as well
-- as by their key are not WITHOUT ROWID: SQLite, knowing nothing of the rows,
-- would take the key's first columns for the better way.

-- tail is the last change that was compacted away.
ALTER TABLE epochs ADD COLUMN tail INTEGER NOT NULL DEFAULT 0;

-- What the open receipts of a crash, and receipts before a time, are found by.
ALTER TABLE receipts ADD COLUMN state TEXT NOT NULL DEFAULT '';
ALTER TABLE receipts ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0;
-- The document's time is RFC 3339 in UTC with up to six digits after the point.
UPDATE receipts SET
  state = coalesce(doc ->> '$.state', ''),
  created_at = unixepoch(substr(doc ->> '$.created_at', 1, 19)) * 1000000
    + CAST(substr(rtrim(substr(doc ->> '$.created_at', 21), 'Z') || '000000', 1, 6) AS INTEGER);
CREATE INDEX receipts_open ON receipts (tenant, id) WHERE state = 'open';

-- Sources that are not ready are few among those that are.
CREATE INDEX sources_not_ready ON sources (tenant, space, generation, state, id) WHERE state <> 'ready';

-- Lists of a whole tenant, in their own order.
CREATE INDEX sessions_of_tenant ON sessions (tenant, updated_at, id);
CREATE INDEX checkpoints_of_tenant ON checkpoints (tenant, created_at, hash);

CREATE TABLE records (
  tenant     TEXT NOT NULL,
  space      TEXT NOT NULL,
  generation INTEGER NOT NULL,
  id         TEXT NOT NULL,
  source     TEXT NOT NULL,
  span_start INTEGER NOT NULL,
  span_end   INTEGER NOT NULL,
  kind       TEXT NOT NULL,
  extractor  TEXT NOT NULL,
  digest     BLOB NOT NULL,
  event_time INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  mac        BLOB NOT NULL,
  kid        TEXT NOT NULL,
  PRIMARY KEY (tenant, space, generation, id)
) STRICT;
CREATE INDEX records_by_source ON records (tenant, space, generation, source, id);

-- embedding holds little-endian float32 values.
CREATE TABLE vectors (
  tenant     TEXT NOT NULL,
  space      TEXT NOT NULL,
  generation INTEGER NOT NULL,
  source     TEXT NOT NULL,
  model      TEXT NOT NULL,
  part       INTEGER NOT NULL,
  span_start INTEGER NOT NULL,
  span_end   INTEGER NOT NULL,
  embedding  BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, space, generation, source, model, part)
) STRICT;

-- keys, evidence and removed are JSON; the two tables below find an entry by a
-- key, and by a source that it injected.
CREATE TABLE replays (
  tenant     TEXT NOT NULL,
  space      TEXT NOT NULL,
  id         TEXT NOT NULL,
  dialect    TEXT NOT NULL,
  generation INTEGER NOT NULL,
  session    TEXT NOT NULL,
  keys       TEXT NOT NULL,
  evidence   TEXT NOT NULL,
  checkpoint BLOB NOT NULL,
  renderer   INTEGER NOT NULL,
  rendered   BLOB NOT NULL,
  removed    TEXT NOT NULL,
  receipt    TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, space, id)
) STRICT;

CREATE TABLE replay_keys (
  tenant     TEXT NOT NULL,
  space      TEXT NOT NULL,
  dialect    TEXT NOT NULL,
  hash       BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  replay     TEXT NOT NULL,
  PRIMARY KEY (tenant, space, dialect, hash, created_at, replay)
) STRICT, WITHOUT ROWID;
CREATE INDEX replay_keys_by_replay ON replay_keys (tenant, space, replay);

CREATE TABLE replay_sources (
  tenant TEXT NOT NULL,
  space  TEXT NOT NULL,
  source TEXT NOT NULL,
  replay TEXT NOT NULL,
  PRIMARY KEY (tenant, space, source, replay)
) STRICT, WITHOUT ROWID;
CREATE INDEX replay_sources_by_replay ON replay_sources (tenant, space, replay);

CREATE TABLE jobs (
  tenant      TEXT NOT NULL,
  id          TEXT NOT NULL,
  space       TEXT NOT NULL,
  kind        TEXT NOT NULL,
  subject     TEXT NOT NULL,
  generation  INTEGER NOT NULL,
  payload     TEXT NOT NULL,
  state       TEXT NOT NULL,
  attempts    INTEGER NOT NULL,
  not_before  INTEGER NOT NULL,
  owner       TEXT NOT NULL,
  fence       INTEGER NOT NULL,
  lease_until INTEGER NOT NULL,
  error       TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  PRIMARY KEY (tenant, id),
  UNIQUE (tenant, space, generation, kind, subject)
) STRICT;
CREATE INDEX jobs_due ON jobs (tenant, not_before, id) WHERE state = 'queued';
CREATE INDEX jobs_due_by_kind ON jobs (tenant, kind, not_before, id) WHERE state = 'queued';
CREATE INDEX jobs_leased ON jobs (tenant, lease_until) WHERE state = 'leased';
CREATE INDEX jobs_by_space ON jobs (tenant, space, id);
CREATE INDEX jobs_by_state ON jobs (tenant, state, id);

CREATE TABLE leases (
  tenant TEXT NOT NULL,
  name   TEXT NOT NULL,
  owner  TEXT NOT NULL,
  fence  INTEGER NOT NULL,
  until  INTEGER NOT NULL,
  PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE nodes (
  tenant     TEXT NOT NULL CHECK (tenant = ''),
  id         TEXT NOT NULL,
  name       TEXT NOT NULL,
  version    TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  until      INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE cursors (
  tenant TEXT NOT NULL,
  space  TEXT NOT NULL,
  node   TEXT NOT NULL,
  seq    INTEGER NOT NULL,
  at     INTEGER NOT NULL,
  PRIMARY KEY (tenant, space, node)
) STRICT, WITHOUT ROWID;

-- seq is 0 while the leaf is pending.
CREATE TABLE audit_leaves (
  tenant TEXT NOT NULL,
  id     TEXT NOT NULL,
  space  TEXT NOT NULL,
  seq    INTEGER NOT NULL CHECK (seq >= 0),
  kind   TEXT NOT NULL,
  digest BLOB NOT NULL,
  at     INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_leaves_pending ON audit_leaves (tenant, at, id) WHERE seq = 0;
CREATE UNIQUE INDEX audit_leaves_placed ON audit_leaves (tenant, seq) WHERE seq > 0;

CREATE TABLE audit_heads (
  tenant TEXT NOT NULL PRIMARY KEY,
  size   INTEGER NOT NULL,
  fence  INTEGER NOT NULL,
  at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
  tenant     TEXT NOT NULL,
  principal  TEXT NOT NULL,
  route      TEXT NOT NULL,
  key        BLOB NOT NULL,
  request    BLOB NOT NULL,
  state      TEXT NOT NULL,
  fence      INTEGER NOT NULL,
  until      INTEGER NOT NULL,
  results    TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  PRIMARY KEY (tenant, principal, route, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_expiry ON idempotency (tenant, expires_at, principal, route, key) WHERE expires_at IS NOT NULL;

CREATE TABLE users (
  tenant      TEXT NOT NULL,
  id          TEXT NOT NULL,
  name        TEXT NOT NULL,
  email       TEXT NOT NULL,
  password    TEXT NOT NULL,
  issuer      TEXT NOT NULL,
  subject     TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  disabled_at INTEGER,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX users_by_email ON users (email, tenant, id) WHERE email <> '';
CREATE UNIQUE INDEX users_by_subject ON users (issuer, subject) WHERE issuer <> '' AND subject <> '';

CREATE TABLE grants (
  tenant     TEXT NOT NULL,
  space      TEXT NOT NULL,
  principal  TEXT NOT NULL,
  role       TEXT NOT NULL,
  granted_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, space, principal)
) STRICT;
CREATE INDEX grants_by_principal ON grants (tenant, principal, space);

-- sealed is the key at the provider, encrypted outside the store.
CREATE TABLE providers (
  tenant        TEXT NOT NULL,
  name          TEXT NOT NULL,
  dialect       TEXT NOT NULL,
  base_url      TEXT NOT NULL,
  default_model TEXT NOT NULL,
  enabled       INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  allow_private INTEGER NOT NULL CHECK (allow_private IN (0, 1)),
  sealed        BLOB NOT NULL,
  label         TEXT NOT NULL,
  version       INTEGER NOT NULL,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
