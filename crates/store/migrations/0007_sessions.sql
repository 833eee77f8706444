-- Sessions of agents, their messages and their turns.

-- meter holds the running totals the agent told last, so that the next ones become differences.
-- asked is the fingerprint of the request that opened the session under an id of its own.
CREATE TABLE sessions (
  id                 BLOB NOT NULL PRIMARY KEY,
  agent_id           BLOB NOT NULL REFERENCES agents (id),
  runtime            TEXT NOT NULL,
  runtime_session_id TEXT NOT NULL,
  title              TEXT NOT NULL,
  cwd                TEXT NOT NULL,
  permission_mode    TEXT NOT NULL,
  model              TEXT NOT NULL,
  effort             TEXT NOT NULL,
  state              TEXT NOT NULL,
  state_reason       TEXT NOT NULL,
  held               INTEGER NOT NULL DEFAULT 0,
  origin             TEXT NOT NULL,
  room_id            BLOB REFERENCES rooms (id),
  last_seq           INTEGER NOT NULL DEFAULT 0,
  last_message_preview TEXT NOT NULL DEFAULT '',
  acknowledgement    TEXT,
  usage              TEXT NOT NULL,
  meter              TEXT NOT NULL,
  asked              BLOB,
  rev                INTEGER NOT NULL DEFAULT 1,
  created_at         INTEGER NOT NULL,
  updated_at         INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_by_update ON sessions (updated_at, id);
CREATE INDEX sessions_by_agent ON sessions (agent_id, updated_at, id);
CREATE INDEX sessions_by_cwd ON sessions (cwd, updated_at, id);
CREATE INDEX sessions_busy ON sessions (state) WHERE state IN ('starting', 'running', 'waiting', 'cancelling');
CREATE UNIQUE INDEX sessions_of_room ON sessions (room_id, agent_id) WHERE state <> 'closed';
CREATE INDEX sessions_by_runtime_id ON sessions (runtime_session_id);

-- seq is null and queue_place is not while a message waits.
-- context is what the agent is told beside the text, room_turn the room's turn it belongs to.
CREATE TABLE messages (
  id          BLOB NOT NULL PRIMARY KEY,
  session_id  BLOB NOT NULL REFERENCES sessions (id),
  seq         INTEGER,
  queue_place INTEGER,
  turn_id     BLOB,
  role        TEXT NOT NULL,
  author_id   BLOB NOT NULL REFERENCES authors (id),
  state       TEXT NOT NULL,
  context     TEXT NOT NULL DEFAULT '',
  room_turn   BLOB,
  created_at  INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX messages_by_seq ON messages (session_id, seq) WHERE seq IS NOT NULL;
CREATE INDEX messages_of_turn ON messages (session_id, turn_id) WHERE turn_id IS NOT NULL;
CREATE UNIQUE INDEX messages_queued ON messages (session_id, queue_place) WHERE queue_place IS NOT NULL;

-- A growing text is a run of pieces of one kind, so that adding to it costs what is added.
-- is_open says that the part is a tool call which goes on; the end of its turn ends it.
CREATE TABLE message_parts (
  message_id   BLOB NOT NULL REFERENCES messages (id),
  place        INTEGER NOT NULL,
  kind         TEXT NOT NULL,
  tool_call_id TEXT,
  is_open      INTEGER NOT NULL DEFAULT 0,
  body         TEXT NOT NULL,
  PRIMARY KEY (message_id, place)
) WITHOUT ROWID;
CREATE INDEX message_parts_by_call ON message_parts (message_id, tool_call_id) WHERE tool_call_id IS NOT NULL;
CREATE INDEX message_parts_open ON message_parts (message_id, place) WHERE is_open = 1;

CREATE TABLE session_turns (
  id                  BLOB NOT NULL PRIMARY KEY,
  session_id          BLOB NOT NULL REFERENCES sessions (id),
  agent_id            BLOB NOT NULL REFERENCES agents (id),
  room_id             BLOB,
  runtime             TEXT NOT NULL,
  model               TEXT NOT NULL,
  message_id          BLOB NOT NULL,
  started_at          INTEGER NOT NULL,
  ended_at            INTEGER,
  outcome             TEXT,
  error               TEXT,
  input_tokens        INTEGER NOT NULL DEFAULT 0,
  output_tokens       INTEGER NOT NULL DEFAULT 0,
  cached_read_tokens  INTEGER NOT NULL DEFAULT 0,
  cached_write_tokens INTEGER NOT NULL DEFAULT 0,
  thought_tokens      INTEGER NOT NULL DEFAULT 0,
  total_tokens        INTEGER NOT NULL DEFAULT 0,
  cost_nanos          INTEGER,
  currency            TEXT,
  reported            INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX session_turns_by_end ON session_turns (ended_at);
CREATE INDEX session_turns_of_session ON session_turns (session_id, started_at);
CREATE INDEX session_turns_open ON session_turns (session_id) WHERE ended_at IS NULL;

-- The tokens of processes that live, or lived when the server ended without a word.
CREATE INDEX tokens_spawned ON tokens (id) WHERE origin = 'spawn' AND revoked_at IS NULL;
