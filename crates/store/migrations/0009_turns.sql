-- Turns of rooms' agents: the ledger, and what entries say of the turn they came from.

ALTER TABLE entries ADD COLUMN notice TEXT;
ALTER TABLE entries ADD COLUMN session_id BLOB;
ALTER TABLE entries ADD COLUMN turn_id BLOB;

-- number is a turn's place in the order of recording, seq that of the first post it answers.
-- triggers are the ids of these posts, 16 bytes each. due_at is when a collecting turn may start,
-- taken_at when its unit of the hourly budgets was taken. clock_since is null while the clock
-- stands. to_cancel marks a turn that ended before its session did.
CREATE TABLE turns (
  number          INTEGER PRIMARY KEY,
  id              BLOB NOT NULL UNIQUE,
  room_id         BLOB NOT NULL REFERENCES rooms (id),
  agent_author_id BLOB NOT NULL REFERENCES authors (id),
  seq             INTEGER NOT NULL,
  thread_root_id  BLOB,
  triggers        BLOB NOT NULL,
  cascade_root_id BLOB NOT NULL,
  depth           INTEGER NOT NULL,
  state           TEXT NOT NULL,
  rule            TEXT NOT NULL,
  limit_met       TEXT,
  session_id      BLOB,
  reply_entry_id  BLOB,
  created_at      INTEGER NOT NULL,
  started_at      INTEGER,
  ended_at        INTEGER,
  by_person       INTEGER NOT NULL DEFAULT 0,
  due_at          INTEGER,
  taken_at        INTEGER,
  clock_ms        INTEGER NOT NULL DEFAULT 0,
  clock_since     INTEGER,
  is_late         INTEGER NOT NULL DEFAULT 0,
  has_asked       INTEGER NOT NULL DEFAULT 0,
  to_cancel       INTEGER NOT NULL DEFAULT 0,
  posts           INTEGER NOT NULL DEFAULT 0,
  canvas_ops      INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX turns_by_room ON turns (room_id, seq, number);
CREATE INDEX turns_by_agent ON turns (room_id, agent_author_id, seq, number);
CREATE INDEX turns_by_state ON turns (room_id, state, seq, number);
CREATE INDEX turns_in_cascade ON turns (cascade_root_id, room_id, agent_author_id);
CREATE INDEX turns_of_session ON turns (session_id, number) WHERE session_id IS NOT NULL;
CREATE INDEX turns_taken ON turns (taken_at) WHERE taken_at IS NOT NULL;
CREATE INDEX turns_taken_in_room ON turns (room_id, taken_at) WHERE taken_at IS NOT NULL;
CREATE INDEX turns_pending ON turns (number) WHERE state IN ('collecting', 'held');
CREATE INDEX turns_pending_of ON turns (room_id, agent_author_id)
  WHERE state IN ('collecting', 'held');
CREATE INDEX turns_live ON turns (agent_author_id, room_id) WHERE state IN ('running', 'waiting');
CREATE INDEX turns_over_budget ON turns (room_id, created_at)
  WHERE rule IN ('hour_room', 'hour_global');
CREATE INDEX turns_to_cancel ON turns (number) WHERE to_cancel = 1;

-- Which turns answer a post.
CREATE TABLE turn_triggers (
  entry_id BLOB NOT NULL,
  number   INTEGER NOT NULL,
  PRIMARY KEY (entry_id, number)
) WITHOUT ROWID;
