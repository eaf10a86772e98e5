-- The state plane, whole. The rules of 0001 and 0002 hold.

-- tip is the turn that the next one follows; 0 is the last one.
ALTER TABLE sessions ADD COLUMN tip INTEGER NOT NULL DEFAULT 0;

-- A turn that does not simply continue the one before it. They are few: a window
-- is known by them, however long it is.
CREATE INDEX turns_seams ON turns (tenant, session, seq)
  WHERE parent <> seq - 1 OR began_after < seq - 2 OR redacted = 1 OR role NOT IN ('user', 'assistant');

-- parent is the first of the parents (the JSON list beside it), empty at the
-- root: the way that walks take. title is the text of the first title item, '' when
-- there is none: a graph of ten thousand checkpoints would read ten thousand
-- scattered items for it. What takes the one away takes the other.
ALTER TABLE checkpoints ADD COLUMN hidden_at INTEGER;
ALTER TABLE checkpoints ADD COLUMN parent BLOB NOT NULL DEFAULT X'';
ALTER TABLE checkpoints ADD COLUMN title TEXT NOT NULL DEFAULT '';
UPDATE checkpoints SET parent = unhex(parents ->> '$[0]') WHERE parents LIKE '["%';
UPDATE checkpoints SET title = coalesce((SELECT i.text FROM checkpoint_items AS i WHERE i.tenant = checkpoints.tenant
  AND i.space = checkpoints.space AND i.checkpoint = checkpoints.hash AND i.kind = 'title' ORDER BY i.ord LIMIT 1), '');

-- Checkpoints that have an item: it has the same id in all that carry it on.
CREATE INDEX checkpoint_items_by_id ON checkpoint_items (tenant, id, space, checkpoint);

CREATE TABLE notes (
  tenant     TEXT NOT NULL,
  id         TEXT NOT NULL,
  space      TEXT NOT NULL,
  checkpoint BLOB NOT NULL,
  kind       TEXT NOT NULL,
  author     TEXT NOT NULL,
  text       TEXT NOT NULL,
  redacted   INTEGER NOT NULL CHECK (redacted IN (0, 1)),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX notes_by_time ON notes (tenant, space, created_at, id);
CREATE INDEX notes_by_checkpoint ON notes (tenant, space, checkpoint, created_at, id);

CREATE TABLE claims (
  tenant     TEXT NOT NULL,
  id         TEXT NOT NULL,
  space      TEXT NOT NULL,
  agent      TEXT NOT NULL,
  scope      TEXT NOT NULL,
  intent     TEXT NOT NULL,
  branch     TEXT NOT NULL,
  base       BLOB NOT NULL,
  session    TEXT NOT NULL,
  task       TEXT NOT NULL,
  worktree   TEXT NOT NULL,
  status     TEXT NOT NULL,
  claimed_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX claims_by_time ON claims (tenant, space, claimed_at, id);
CREATE INDEX claims_by_status ON claims (tenant, space, status, claimed_at, id);
CREATE INDEX claims_by_expiry ON claims (tenant, space, expires_at);

CREATE TABLE worktrees (
  tenant     TEXT NOT NULL,
  id         TEXT NOT NULL,
  space      TEXT NOT NULL,
  agent      TEXT NOT NULL,
  branch     TEXT NOT NULL,
  base       TEXT NOT NULL,
  root       TEXT NOT NULL,
  path       TEXT NOT NULL,
  status     TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  closed_at  INTEGER,
  PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX worktrees_by_time ON worktrees (tenant, space, created_at, id);
CREATE INDEX worktrees_by_status ON worktrees (tenant, space, status, created_at, id);

CREATE TABLE documents (
  tenant     TEXT NOT NULL,
  id         TEXT NOT NULL,
  space      TEXT NOT NULL,
  kind       TEXT NOT NULL,
  session    TEXT NOT NULL,
  title      TEXT NOT NULL,
  text       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX documents_by_time ON documents (tenant, space, created_at, id);
CREATE INDEX documents_by_kind ON documents (tenant, space, kind, created_at, id);
CREATE INDEX documents_by_session ON documents (tenant, space, session, created_at, id) WHERE session <> '';

-- from_head and to_head are empty where there is no head.
CREATE TABLE head_moves (
  tenant    TEXT NOT NULL,
  space     TEXT NOT NULL,
  seq       INTEGER NOT NULL CHECK (seq >= 1),
  branch    TEXT NOT NULL,
  from_head BLOB NOT NULL,
  to_head   BLOB NOT NULL,
  act       TEXT NOT NULL,
  undoes    INTEGER NOT NULL,
  moved_by  TEXT NOT NULL,
  at        INTEGER NOT NULL,
  PRIMARY KEY (tenant, space, seq)
) STRICT;
CREATE INDEX head_moves_by_branch ON head_moves (tenant, space, branch, seq);
