-- The first schema, as on SQLite; names, columns and keys are the same. Times
-- are microseconds since 1970 in UTC, flags 0 or 1, hashes 32 bytes (none:
-- empty), lists JSON. Only what may be absent in meaning is NULL. Texts are
-- equal and ordered by their bytes. There are no CHECKs as on SQLite: the server
-- would parse each anew for every statement, a tenth of the cost of a write, and
-- what they say holds of every row before it comes here.

CREATE TABLE tenants (
  id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  name       TEXT COLLATE "C" NOT NULL,
  kid        TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE spaces (
  tenant       TEXT COLLATE "C" NOT NULL,
  id           TEXT COLLATE "C" NOT NULL,
  name         TEXT COLLATE "C" NOT NULL,
  description  TEXT COLLATE "C" NOT NULL,
  project_root TEXT COLLATE "C" NOT NULL,
  owner        TEXT COLLATE "C" NOT NULL,
  home         BIGINT NOT NULL,
  created_at   BIGINT NOT NULL,
  updated_at   BIGINT NOT NULL,
  deleted_at   BIGINT,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX spaces_by_name ON spaces (tenant, name, created_at, id);
CREATE INDEX spaces_by_owner ON spaces (tenant, owner, id) WHERE home = 1;

CREATE TABLE epochs (
  tenant      TEXT COLLATE "C" NOT NULL,
  space       TEXT COLLATE "C" NOT NULL,
  generation  BIGINT NOT NULL,
  fence       BIGINT NOT NULL,
  acl_version BIGINT NOT NULL,
  head        BIGINT NOT NULL,
  PRIMARY KEY (tenant, space)
);

CREATE TABLE changes (
  tenant TEXT COLLATE "C" NOT NULL,
  space  TEXT COLLATE "C" NOT NULL,
  seq    BIGINT NOT NULL,
  kind   TEXT COLLATE "C" NOT NULL,
  ref    TEXT COLLATE "C" NOT NULL,
  at     BIGINT NOT NULL,
  PRIMARY KEY (tenant, space, seq)
);

CREATE TABLE sessions (
  tenant         TEXT COLLATE "C" NOT NULL,
  id             TEXT COLLATE "C" NOT NULL,
  space          TEXT COLLATE "C" NOT NULL,
  kind           TEXT COLLATE "C" NOT NULL,
  fresh          BIGINT NOT NULL,
  title          TEXT COLLATE "C" NOT NULL,
  provider       TEXT COLLATE "C" NOT NULL,
  model          TEXT COLLATE "C" NOT NULL,
  branch         TEXT COLLATE "C" NOT NULL,
  seeded         BYTEA NOT NULL,
  forked_from    BYTEA NOT NULL,
  forked_session TEXT COLLATE "C" NOT NULL,
  forked_seq     BIGINT NOT NULL,
  -- all four are NULL when nothing is mounted
  mount_checkpoint BYTEA,
  mount_depth      BIGINT,
  mount_base       BIGINT,
  mount_at         BIGINT,
  last_seq       BIGINT NOT NULL,
  owner          TEXT COLLATE "C" NOT NULL,
  created_at     BIGINT NOT NULL,
  updated_at     BIGINT NOT NULL,
  deleted_at     BIGINT,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX sessions_by_update ON sessions (tenant, space, updated_at, id);

CREATE TABLE chains (
  tenant  TEXT COLLATE "C" NOT NULL,
  space   TEXT COLLATE "C" NOT NULL,
  hash    BYTEA NOT NULL,
  seq     BIGINT NOT NULL,
  session TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, space, hash, seq, session)
);

CREATE TABLE hints (
  tenant  TEXT COLLATE "C" NOT NULL,
  space   TEXT COLLATE "C" NOT NULL,
  hint    BYTEA NOT NULL,
  session TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, space, hint)
);

-- space is where the turn was written; it is where its session is.
CREATE TABLE turns (
  tenant      TEXT COLLATE "C" NOT NULL,
  session     TEXT COLLATE "C" NOT NULL,
  seq         BIGINT NOT NULL,
  space       TEXT COLLATE "C" NOT NULL,
  id          TEXT COLLATE "C" NOT NULL,
  parent      BIGINT NOT NULL,
  began_after BIGINT NOT NULL,
  role        TEXT COLLATE "C" NOT NULL,
  speaker     TEXT COLLATE "C" NOT NULL,
  content     TEXT COLLATE "C" NOT NULL,
  provider    TEXT COLLATE "C" NOT NULL,
  model       TEXT COLLATE "C" NOT NULL,
  interim     BIGINT NOT NULL,
  truncated   BIGINT NOT NULL,
  backfill    BIGINT NOT NULL,
  redacted    BIGINT NOT NULL,
  created_at  BIGINT NOT NULL,
  PRIMARY KEY (tenant, session, seq)
);

CREATE TABLE checkpoints (
  tenant         TEXT COLLATE "C" NOT NULL,
  space          TEXT COLLATE "C" NOT NULL,
  hash           BYTEA NOT NULL,
  id             TEXT COLLATE "C" NOT NULL,
  parents        TEXT COLLATE "C" NOT NULL,
  branch         TEXT COLLATE "C" NOT NULL,
  created_at     BIGINT NOT NULL,
  author         TEXT COLLATE "C" NOT NULL,
  window_session TEXT COLLATE "C" NOT NULL,
  window_base    BIGINT NOT NULL,
  window_through BIGINT NOT NULL,
  generation     BIGINT NOT NULL,
  PRIMARY KEY (tenant, space, hash),
  UNIQUE (tenant, hash),
  UNIQUE (tenant, id)
);
CREATE INDEX checkpoints_by_time ON checkpoints (tenant, space, created_at, hash);

-- One row for each item, so that one item can be redacted.
CREATE TABLE checkpoint_items (
  tenant     TEXT COLLATE "C" NOT NULL,
  space      TEXT COLLATE "C" NOT NULL,
  checkpoint BYTEA NOT NULL,
  ord        BIGINT NOT NULL,
  id         TEXT COLLATE "C" NOT NULL,
  kind       TEXT COLLATE "C" NOT NULL,
  text       TEXT COLLATE "C" NOT NULL,
  attrs      TEXT COLLATE "C" NOT NULL,
  cites      TEXT COLLATE "C" NOT NULL,
  salt       BYTEA NOT NULL,
  digest     BYTEA NOT NULL,
  redacted   BIGINT NOT NULL,
  PRIMARY KEY (tenant, space, checkpoint, ord),
  FOREIGN KEY (tenant, space, checkpoint) REFERENCES checkpoints (tenant, space, hash) ON DELETE CASCADE
);

CREATE TABLE branches (
  tenant      TEXT COLLATE "C" NOT NULL,
  space       TEXT COLLATE "C" NOT NULL,
  name        TEXT COLLATE "C" NOT NULL,
  head        BYTEA NOT NULL,
  disposition TEXT COLLATE "C" NOT NULL,
  updated_at  BIGINT NOT NULL,
  PRIMARY KEY (tenant, space, name)
);

CREATE TABLE sources (
  tenant     TEXT COLLATE "C" NOT NULL,
  space      TEXT COLLATE "C" NOT NULL,
  generation BIGINT NOT NULL,
  id         TEXT COLLATE "C" NOT NULL,
  class      TEXT COLLATE "C" NOT NULL,
  state      TEXT COLLATE "C" NOT NULL,
  held_for   TEXT COLLATE "C" NOT NULL,
  role       TEXT COLLATE "C" NOT NULL,
  digest     BYTEA NOT NULL,
  size       BIGINT NOT NULL,
  event_time BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  mac        BYTEA NOT NULL,
  kid        TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, space, generation, id)
);

-- ord is the order in which a source's references were added. The UNIQUE key
-- is also the way from a turn to its sources.
CREATE TABLE source_references (
  tenant     TEXT COLLATE "C" NOT NULL,
  space      TEXT COLLATE "C" NOT NULL,
  generation BIGINT NOT NULL,
  source     TEXT COLLATE "C" NOT NULL,
  ord        BIGINT NOT NULL,
  session    TEXT COLLATE "C" NOT NULL,
  seq        BIGINT NOT NULL,
  checkpoint BYTEA NOT NULL,
  item       TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, space, generation, source, ord),
  UNIQUE (tenant, space, generation, session, seq, source, checkpoint, item)
);

CREATE TABLE tombstones (
  tenant     TEXT COLLATE "C" NOT NULL,
  space      TEXT COLLATE "C" NOT NULL,
  generation BIGINT NOT NULL,
  source     TEXT COLLATE "C" NOT NULL,
  state      TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (tenant, space, generation, source)
);

-- doc is the receipt as JSON; the columns beside it are those queried.
CREATE TABLE receipts (
  tenant  TEXT COLLATE "C" NOT NULL,
  id      TEXT COLLATE "C" NOT NULL,
  space   TEXT COLLATE "C" NOT NULL,
  session TEXT COLLATE "C" NOT NULL,
  kind    TEXT COLLATE "C" NOT NULL,
  doc     TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX receipts_by_space ON receipts (tenant, space, id);
CREATE INDEX receipts_by_session ON receipts (tenant, session, id) WHERE session <> '';

CREATE TABLE keys (
  tenant     TEXT COLLATE "C" NOT NULL,
  id         TEXT COLLATE "C" NOT NULL,
  hash       BYTEA NOT NULL UNIQUE,
  name       TEXT COLLATE "C" NOT NULL,
  label      TEXT COLLATE "C" NOT NULL,
  test       BIGINT NOT NULL,
  scopes     TEXT COLLATE "C" NOT NULL,
  space      TEXT COLLATE "C" NOT NULL,
  spaces     TEXT COLLATE "C" NOT NULL,
  provider   TEXT COLLATE "C" NOT NULL,
  owner      TEXT COLLATE "C" NOT NULL,
  maker      TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  PRIMARY KEY (tenant, id)
);

-- Row-level security is the second wall: a transaction says whose rows it is
-- about, and one that does not fails. dhruva.reach is 'system' for what is
-- looked up across tenants, 'all' for maintenance (migrations, copies), else
-- empty. The owner of the tables is bound, too.
CREATE FUNCTION dhruva_tenant() RETURNS TEXT LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN current_setting('dhruva.tenant') = '' THEN current_setting('dhruva.tenant_is_not_set')
    ELSE current_setting('dhruva.tenant') END
$$;

ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenants FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON tenants USING (id = dhruva_tenant() OR current_setting('dhruva.reach') = 'system');
CREATE POLICY maintenance ON tenants USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE spaces ENABLE ROW LEVEL SECURITY;
ALTER TABLE spaces FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON spaces USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON spaces USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE epochs ENABLE ROW LEVEL SECURITY;
ALTER TABLE epochs FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON epochs USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON epochs USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE changes FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON changes USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON changes USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE sessions FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON sessions USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON sessions USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE chains ENABLE ROW LEVEL SECURITY;
ALTER TABLE chains FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON chains USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON chains USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE hints ENABLE ROW LEVEL SECURITY;
ALTER TABLE hints FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON hints USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON hints USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE turns ENABLE ROW LEVEL SECURITY;
ALTER TABLE turns FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON turns USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON turns USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE checkpoints ENABLE ROW LEVEL SECURITY;
ALTER TABLE checkpoints FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON checkpoints USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON checkpoints USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE checkpoint_items ENABLE ROW LEVEL SECURITY;
ALTER TABLE checkpoint_items FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON checkpoint_items USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON checkpoint_items USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE branches ENABLE ROW LEVEL SECURITY;
ALTER TABLE branches FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON branches USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON branches USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE sources ENABLE ROW LEVEL SECURITY;
ALTER TABLE sources FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON sources USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON sources USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE source_references ENABLE ROW LEVEL SECURITY;
ALTER TABLE source_references FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON source_references USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON source_references USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE tombstones ENABLE ROW LEVEL SECURITY;
ALTER TABLE tombstones FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON tombstones USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON tombstones USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE receipts ENABLE ROW LEVEL SECURITY;
ALTER TABLE receipts FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON receipts USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON receipts USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE keys FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON keys USING (tenant = dhruva_tenant() OR current_setting('dhruva.reach') = 'system');
CREATE POLICY maintenance ON keys USING (current_setting('dhruva.reach') = 'all');
