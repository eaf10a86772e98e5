-- The ground: the rest of the rows. The rules of 0001 hold; rows of the
-- installation have the tenant ''. Tables that are searched by an index as well
-- as by their key are not WITHOUT ROWID: SQLite, knowing nothing of the rows,
-- would take the key's first columns for the better way.

-- tail is the last change that was compacted away.
ALTER TABLE epochs ADD COLUMN tail BIGINT NOT NULL DEFAULT 0;

-- What the open receipts of a crash, and receipts before a time, are found by.
ALTER TABLE receipts ADD COLUMN state TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE receipts ADD COLUMN created_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX receipts_open ON receipts (tenant, id) WHERE state = 'open';

-- Sources that are not ready are few among those that are.
CREATE INDEX sources_not_ready ON sources (tenant, space, generation, state, id) WHERE state <> 'ready';

-- Lists of a whole tenant, in their own order.
CREATE INDEX sessions_of_tenant ON sessions (tenant, updated_at, id);
CREATE INDEX checkpoints_of_tenant ON checkpoints (tenant, created_at, hash);

CREATE TABLE records (
  tenant     TEXT COLLATE "C" NOT NULL,
  space      TEXT COLLATE "C" NOT NULL,
  generation BIGINT NOT NULL,
  id         TEXT COLLATE "C" NOT NULL,
  source     TEXT COLLATE "C" NOT NULL,
  span_start BIGINT NOT NULL,
  span_end   BIGINT NOT NULL,
  kind       TEXT COLLATE "C" NOT NULL,
  extractor  TEXT COLLATE "C" NOT NULL,
  digest     BYTEA NOT NULL,
  event_time BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  mac        BYTEA NOT NULL,
  kid        TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, space, generation, id)
);
CREATE INDEX records_by_source ON records (tenant, space, generation, source, id);

-- embedding holds little-endian float32 values.
CREATE TABLE vectors (
  tenant     TEXT COLLATE "C" NOT NULL,
  space      TEXT COLLATE "C" NOT NULL,
  generation BIGINT NOT NULL,
  source     TEXT COLLATE "C" NOT NULL,
  model      TEXT COLLATE "C" NOT NULL,
  part       BIGINT NOT NULL,
  span_start BIGINT NOT NULL,
  span_end   BIGINT NOT NULL,
  embedding  BYTEA NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (tenant, space, generation, source, model, part)
);

-- keys, evidence and removed are JSON; the two tables below find an entry by a
-- key, and by a source that it injected.
CREATE TABLE replays (
  tenant     TEXT COLLATE "C" NOT NULL,
  space      TEXT COLLATE "C" NOT NULL,
  id         TEXT COLLATE "C" NOT NULL,
  dialect    TEXT COLLATE "C" NOT NULL,
  generation BIGINT NOT NULL,
  session    TEXT COLLATE "C" NOT NULL,
  keys       TEXT COLLATE "C" NOT NULL,
  evidence   TEXT COLLATE "C" NOT NULL,
  checkpoint BYTEA NOT NULL,
  renderer   BIGINT NOT NULL,
  rendered   BYTEA NOT NULL,
  removed    TEXT COLLATE "C" NOT NULL,
  receipt    TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (tenant, space, id)
);

CREATE TABLE replay_keys (
  tenant     TEXT COLLATE "C" NOT NULL,
  space      TEXT COLLATE "C" NOT NULL,
  dialect    TEXT COLLATE "C" NOT NULL,
  hash       BYTEA NOT NULL,
  created_at BIGINT NOT NULL,
  replay     TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, space, dialect, hash, created_at, replay)
);
CREATE INDEX replay_keys_by_replay ON replay_keys (tenant, space, replay);

CREATE TABLE replay_sources (
  tenant TEXT COLLATE "C" NOT NULL,
  space  TEXT COLLATE "C" NOT NULL,
  source TEXT COLLATE "C" NOT NULL,
  replay TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, space, source, replay)
);
CREATE INDEX replay_sources_by_replay ON replay_sources (tenant, space, replay);

CREATE TABLE jobs (
  tenant      TEXT COLLATE "C" NOT NULL,
  id          TEXT COLLATE "C" NOT NULL,
  space       TEXT COLLATE "C" NOT NULL,
  kind        TEXT COLLATE "C" NOT NULL,
  subject     TEXT COLLATE "C" NOT NULL,
  generation  BIGINT NOT NULL,
  payload     TEXT COLLATE "C" NOT NULL,
  state       TEXT COLLATE "C" NOT NULL,
  attempts    BIGINT NOT NULL,
  not_before  BIGINT NOT NULL,
  owner       TEXT COLLATE "C" NOT NULL,
  fence       BIGINT NOT NULL,
  lease_until BIGINT NOT NULL,
  error       TEXT COLLATE "C" NOT NULL,
  created_at  BIGINT NOT NULL,
  updated_at  BIGINT NOT NULL,
  PRIMARY KEY (tenant, id),
  UNIQUE (tenant, space, generation, kind, subject)
);
CREATE INDEX jobs_due ON jobs (tenant, not_before, id) WHERE state = 'queued';
CREATE INDEX jobs_due_by_kind ON jobs (tenant, kind, not_before, id) WHERE state = 'queued';
CREATE INDEX jobs_leased ON jobs (tenant, lease_until) WHERE state = 'leased';
CREATE INDEX jobs_by_space ON jobs (tenant, space, id);
CREATE INDEX jobs_by_state ON jobs (tenant, state, id);

CREATE TABLE leases (
  tenant TEXT COLLATE "C" NOT NULL,
  name   TEXT COLLATE "C" NOT NULL,
  owner  TEXT COLLATE "C" NOT NULL,
  fence  BIGINT NOT NULL,
  until  BIGINT NOT NULL,
  PRIMARY KEY (tenant, name)
);

CREATE TABLE nodes (
  tenant     TEXT COLLATE "C" NOT NULL CHECK (tenant = ''),
  id         TEXT COLLATE "C" NOT NULL,
  name       TEXT COLLATE "C" NOT NULL,
  version    TEXT COLLATE "C" NOT NULL,
  started_at BIGINT NOT NULL,
  until      BIGINT NOT NULL,
  PRIMARY KEY (tenant, id)
);

CREATE TABLE cursors (
  tenant TEXT COLLATE "C" NOT NULL,
  space  TEXT COLLATE "C" NOT NULL,
  node   TEXT COLLATE "C" NOT NULL,
  seq    BIGINT NOT NULL,
  at     BIGINT NOT NULL,
  PRIMARY KEY (tenant, space, node)
);

-- seq is 0 while the leaf is pending.
CREATE TABLE audit_leaves (
  tenant TEXT COLLATE "C" NOT NULL,
  id     TEXT COLLATE "C" NOT NULL,
  space  TEXT COLLATE "C" NOT NULL,
  seq    BIGINT NOT NULL,
  kind   TEXT COLLATE "C" NOT NULL,
  digest BYTEA NOT NULL,
  at     BIGINT NOT NULL,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX audit_leaves_pending ON audit_leaves (tenant, at, id) WHERE seq = 0;
CREATE UNIQUE INDEX audit_leaves_placed ON audit_leaves (tenant, seq) WHERE seq > 0;

CREATE TABLE audit_heads (
  tenant TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  size   BIGINT NOT NULL,
  fence  BIGINT NOT NULL,
  at     BIGINT NOT NULL
);

CREATE TABLE idempotency (
  tenant     TEXT COLLATE "C" NOT NULL,
  principal  TEXT COLLATE "C" NOT NULL,
  route      TEXT COLLATE "C" NOT NULL,
  key        BYTEA NOT NULL,
  request    BYTEA NOT NULL,
  state      TEXT COLLATE "C" NOT NULL,
  fence      BIGINT NOT NULL,
  until      BIGINT NOT NULL,
  results    TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  PRIMARY KEY (tenant, principal, route, key)
);
CREATE INDEX idempotency_by_expiry ON idempotency (tenant, expires_at, principal, route, key) WHERE expires_at IS NOT NULL;

CREATE TABLE users (
  tenant      TEXT COLLATE "C" NOT NULL,
  id          TEXT COLLATE "C" NOT NULL,
  name        TEXT COLLATE "C" NOT NULL,
  email       TEXT COLLATE "C" NOT NULL,
  password    TEXT COLLATE "C" NOT NULL,
  issuer      TEXT COLLATE "C" NOT NULL,
  subject     TEXT COLLATE "C" NOT NULL,
  created_at  BIGINT NOT NULL,
  updated_at  BIGINT NOT NULL,
  disabled_at BIGINT,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX users_by_email ON users (email, tenant, id) WHERE email <> '';
CREATE UNIQUE INDEX users_by_subject ON users (issuer, subject) WHERE issuer <> '' AND subject <> '';

CREATE TABLE grants (
  tenant     TEXT COLLATE "C" NOT NULL,
  space      TEXT COLLATE "C" NOT NULL,
  principal  TEXT COLLATE "C" NOT NULL,
  role       TEXT COLLATE "C" NOT NULL,
  granted_by TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (tenant, space, principal)
);
CREATE INDEX grants_by_principal ON grants (tenant, principal, space);

-- sealed is the key at the provider, encrypted outside the store.
CREATE TABLE providers (
  tenant        TEXT COLLATE "C" NOT NULL,
  name          TEXT COLLATE "C" NOT NULL,
  dialect       TEXT COLLATE "C" NOT NULL,
  base_url      TEXT COLLATE "C" NOT NULL,
  default_model TEXT COLLATE "C" NOT NULL,
  enabled       BIGINT NOT NULL,
  allow_private BIGINT NOT NULL,
  sealed        BYTEA NOT NULL,
  label         TEXT COLLATE "C" NOT NULL,
  version       BIGINT NOT NULL,
  created_at    BIGINT NOT NULL,
  updated_at    BIGINT NOT NULL,
  PRIMARY KEY (tenant, name)
);

ALTER TABLE records ENABLE ROW LEVEL SECURITY;
ALTER TABLE records FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON records USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON records USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE vectors ENABLE ROW LEVEL SECURITY;
ALTER TABLE vectors FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON vectors USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON vectors USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE replays ENABLE ROW LEVEL SECURITY;
ALTER TABLE replays FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON replays USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON replays USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE replay_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE replay_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON replay_keys USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON replay_keys USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE replay_sources ENABLE ROW LEVEL SECURITY;
ALTER TABLE replay_sources FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON replay_sources USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON replay_sources USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE jobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE jobs FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON jobs USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON jobs USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE leases ENABLE ROW LEVEL SECURITY;
ALTER TABLE leases FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON leases USING (tenant = dhruva_tenant() OR tenant = '' AND current_setting('dhruva.reach') = 'system');
CREATE POLICY maintenance ON leases USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE nodes ENABLE ROW LEVEL SECURITY;
ALTER TABLE nodes FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON nodes USING (tenant = '' AND current_setting('dhruva.reach') = 'system');
CREATE POLICY maintenance ON nodes USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE cursors ENABLE ROW LEVEL SECURITY;
ALTER TABLE cursors FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON cursors USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON cursors USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE audit_leaves ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_leaves FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON audit_leaves USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON audit_leaves USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE audit_heads ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_heads FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON audit_heads USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON audit_heads USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE idempotency ENABLE ROW LEVEL SECURITY;
ALTER TABLE idempotency FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON idempotency USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON idempotency USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE users ENABLE ROW LEVEL SECURITY;
ALTER TABLE users FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON users USING (tenant = dhruva_tenant() OR current_setting('dhruva.reach') = 'system');
CREATE POLICY maintenance ON users USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE grants ENABLE ROW LEVEL SECURITY;
ALTER TABLE grants FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON grants USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON grants USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE providers ENABLE ROW LEVEL SECURITY;
ALTER TABLE providers FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON providers USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON providers USING (current_setting('dhruva.reach') = 'all');
