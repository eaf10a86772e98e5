-- The state plane, whole. The rules of 0001 and 0002 hold.

-- tip is the turn that the next one follows; 0 is the last one.
ALTER TABLE sessions ADD COLUMN tip BIGINT NOT NULL DEFAULT 0;

-- A turn that does not simply continue the one before it. They are few: a window
-- is known by them, however long it is.
CREATE INDEX turns_seams ON turns (tenant, session, seq)
  WHERE parent <> seq - 1 OR began_after < seq - 2 OR redacted = 1 OR role NOT IN ('user', 'assistant');

-- parent is the first of the parents (the JSON list beside it), empty at the
-- root: the way that walks take. title is the text of the first title item, '' when
-- there is none: a graph of ten thousand checkpoints would read ten thousand
-- scattered items for it. What takes the one away takes the other.
ALTER TABLE checkpoints ADD COLUMN hidden_at BIGINT;
ALTER TABLE checkpoints ADD COLUMN parent BYTEA NOT NULL DEFAULT '';
ALTER TABLE checkpoints ADD COLUMN title TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE checkpoints SET parent = decode(parents::jsonb ->> 0, 'hex') WHERE parents LIKE '["%';
UPDATE checkpoints SET title = coalesce((SELECT i.text FROM checkpoint_items AS i WHERE i.tenant = checkpoints.tenant
  AND i.space = checkpoints.space AND i.checkpoint = checkpoints.hash AND i.kind = 'title' ORDER BY i.ord LIMIT 1), '');

-- Checkpoints that have an item: it has the same id in all that carry it on.
CREATE INDEX checkpoint_items_by_id ON checkpoint_items (tenant, id, space, checkpoint);

CREATE TABLE notes (
  tenant     TEXT COLLATE "C" NOT NULL,
  id         TEXT COLLATE "C" NOT NULL,
  space      TEXT COLLATE "C" NOT NULL,
  checkpoint BYTEA NOT NULL,
  kind       TEXT COLLATE "C" NOT NULL,
  author     TEXT COLLATE "C" NOT NULL,
  text       TEXT COLLATE "C" NOT NULL,
  redacted   BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX notes_by_time ON notes (tenant, space, created_at, id);
CREATE INDEX notes_by_checkpoint ON notes (tenant, space, checkpoint, created_at, id);

CREATE TABLE claims (
  tenant     TEXT COLLATE "C" NOT NULL,
  id         TEXT COLLATE "C" NOT NULL,
  space      TEXT COLLATE "C" NOT NULL,
  agent      TEXT COLLATE "C" NOT NULL,
  scope      TEXT COLLATE "C" NOT NULL,
  intent     TEXT COLLATE "C" NOT NULL,
  branch     TEXT COLLATE "C" NOT NULL,
  base       BYTEA NOT NULL,
  session    TEXT COLLATE "C" NOT NULL,
  task       TEXT COLLATE "C" NOT NULL,
  worktree   TEXT COLLATE "C" NOT NULL,
  status     TEXT COLLATE "C" NOT NULL,
  claimed_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX claims_by_time ON claims (tenant, space, claimed_at, id);
CREATE INDEX claims_by_status ON claims (tenant, space, status, claimed_at, id);
CREATE INDEX claims_by_expiry ON claims (tenant, space, expires_at);

CREATE TABLE worktrees (
  tenant     TEXT COLLATE "C" NOT NULL,
  id         TEXT COLLATE "C" NOT NULL,
  space      TEXT COLLATE "C" NOT NULL,
  agent      TEXT COLLATE "C" NOT NULL,
  branch     TEXT COLLATE "C" NOT NULL,
  base       TEXT COLLATE "C" NOT NULL,
  root       TEXT COLLATE "C" NOT NULL,
  path       TEXT COLLATE "C" NOT NULL,
  status     TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  closed_at  BIGINT,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX worktrees_by_time ON worktrees (tenant, space, created_at, id);
CREATE INDEX worktrees_by_status ON worktrees (tenant, space, status, created_at, id);

CREATE TABLE documents (
  tenant     TEXT COLLATE "C" NOT NULL,
  id         TEXT COLLATE "C" NOT NULL,
  space      TEXT COLLATE "C" NOT NULL,
  kind       TEXT COLLATE "C" NOT NULL,
  session    TEXT COLLATE "C" NOT NULL,
  title      TEXT COLLATE "C" NOT NULL,
  text       TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX documents_by_time ON documents (tenant, space, created_at, id);
CREATE INDEX documents_by_kind ON documents (tenant, space, kind, created_at, id);
CREATE INDEX documents_by_session ON documents (tenant, space, session, created_at, id) WHERE session <> '';

-- from_head and to_head are empty where there is no head.
CREATE TABLE head_moves (
  tenant    TEXT COLLATE "C" NOT NULL,
  space     TEXT COLLATE "C" NOT NULL,
  seq       BIGINT NOT NULL,
  branch    TEXT COLLATE "C" NOT NULL,
  from_head BYTEA NOT NULL,
  to_head   BYTEA NOT NULL,
  act       TEXT COLLATE "C" NOT NULL,
  undoes    BIGINT NOT NULL,
  moved_by  TEXT COLLATE "C" NOT NULL,
  at        BIGINT NOT NULL,
  PRIMARY KEY (tenant, space, seq)
);
CREATE INDEX head_moves_by_branch ON head_moves (tenant, space, branch, seq);

-- Where the server knows nothing of the rows yet it takes the newest of the indexes
-- that begin alike: until the tables are analyzed each item that is written would
-- look through its whole space for its checkpoint. So the primary key is made anew.
ALTER TABLE checkpoint_items DROP CONSTRAINT checkpoint_items_tenant_space_checkpoint_fkey;
ALTER TABLE checkpoints DROP CONSTRAINT checkpoints_pkey;
ALTER TABLE checkpoints ADD PRIMARY KEY (tenant, space, hash);
ALTER TABLE checkpoint_items ADD FOREIGN KEY (tenant, space, checkpoint) REFERENCES checkpoints (tenant, space, hash) ON DELETE CASCADE;

ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
ALTER TABLE notes FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON notes USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON notes USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE claims ENABLE ROW LEVEL SECURITY;
ALTER TABLE claims FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON claims USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON claims USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE worktrees ENABLE ROW LEVEL SECURITY;
ALTER TABLE worktrees FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON worktrees USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON worktrees USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE documents ENABLE ROW LEVEL SECURITY;
ALTER TABLE documents FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON documents USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON documents USING (current_setting('dhruva.reach') = 'all');
ALTER TABLE head_moves ENABLE ROW LEVEL SECURITY;
ALTER TABLE head_moves FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON head_moves USING (tenant = dhruva_tenant());
CREATE POLICY maintenance ON head_moves USING (current_setting('dhruva.reach') = 'all');
