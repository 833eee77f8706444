-- Authors, handles, agents, tokens, rooms, members, entries and the event log.
-- Ids are 16 bytes, times are milliseconds since 1970, words are the interface's own.

CREATE TABLE installation (
  key   TEXT PRIMARY KEY,
  value BLOB NOT NULL
);

CREATE TABLE authors (
  id           BLOB PRIMARY KEY,
  kind         TEXT NOT NULL,
  display_name TEXT NOT NULL,
  emoji        TEXT NOT NULL DEFAULT '',
  color        TEXT NOT NULL DEFAULT '',
  image_url    TEXT NOT NULL DEFAULT '',
  agent_id     BLOB,
  retired      INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX authors_one_system ON authors (kind) WHERE kind = 'system';

-- A handle is live while released_at is null, else kept for the author that released it.
CREATE TABLE handles (
  handle      TEXT PRIMARY KEY,
  author_id   BLOB NOT NULL REFERENCES authors (id),
  released_at INTEGER
);
CREATE UNIQUE INDEX handles_one_live ON handles (author_id) WHERE released_at IS NULL;
CREATE INDEX handles_released ON handles (author_id, released_at);

CREATE TABLE agents (
  id              BLOB PRIMARY KEY,
  author_id       BLOB NOT NULL REFERENCES authors (id),
  name            TEXT NOT NULL,
  description     TEXT NOT NULL,
  runtime         TEXT NOT NULL,
  cwd             TEXT NOT NULL,
  response_mode   TEXT NOT NULL,
  permission_mode TEXT NOT NULL,
  model           TEXT NOT NULL,
  effort          TEXT NOT NULL,
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL,
  retired_at      INTEGER
);
CREATE UNIQUE INDEX agents_one_per_folder ON agents (cwd, runtime) WHERE retired_at IS NULL;
CREATE INDEX agents_by_folder ON agents (cwd, created_at);

CREATE TABLE tokens (
  id           BLOB PRIMARY KEY,
  agent_id     BLOB NOT NULL REFERENCES agents (id),
  digest       BLOB NOT NULL UNIQUE,
  label        TEXT NOT NULL,
  origin       TEXT NOT NULL,
  session_id   BLOB,
  created_at   INTEGER NOT NULL,
  last_used_at INTEGER,
  revoked_at   INTEGER
);
CREATE INDEX tokens_by_agent ON tokens (agent_id, created_at);

CREATE TABLE rooms (
  id                              BLOB PRIMARY KEY,
  kind                            TEXT NOT NULL,
  slug                            TEXT NOT NULL,
  title                           TEXT,
  topic                           TEXT NOT NULL,
  archived                        INTEGER NOT NULL DEFAULT 0,
  ambient_max_entries             INTEGER NOT NULL,
  well_known                      TEXT NOT NULL DEFAULT '',
  made_by_agent                   INTEGER NOT NULL DEFAULT 0,
  fallback_seat                   BLOB,
  turn_limits_enabled             INTEGER,
  max_agent_depth                 INTEGER,
  max_turns_per_agent_per_cascade INTEGER,
  max_auto_turns_per_hour         INTEGER,
  created_at                      INTEGER NOT NULL,
  last_activity_at                INTEGER NOT NULL,
  last_seq                        INTEGER NOT NULL DEFAULT 0,
  post_count                      INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX rooms_one_team ON rooms (well_known) WHERE well_known = 'team';
CREATE UNIQUE INDEX rooms_slug ON rooms (slug) WHERE kind = 'channel' AND archived = 0;

-- read_others counts the posts of others up to last_read_seq, so that the unread ones are
-- a subtraction of stored numbers; seen_from is the event that let the member in.
CREATE TABLE members (
  room_id           BLOB NOT NULL REFERENCES rooms (id),
  author_id         BLOB NOT NULL REFERENCES authors (id),
  response_mode     TEXT NOT NULL,
  joined_at         INTEGER NOT NULL,
  joined_seq        INTEGER NOT NULL,
  seen_from         INTEGER NOT NULL,
  last_read_seq     INTEGER NOT NULL,
  cursor_moved_at   INTEGER NOT NULL,
  read_others       INTEGER NOT NULL,
  mention_count     INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (room_id, author_id)
) WITHOUT ROWID;
CREATE INDEX members_by_author ON members (author_id, room_id);

-- Who ever wrote in a room, and how many posts; it outlives membership.
CREATE TABLE posters (
  room_id   BLOB NOT NULL REFERENCES rooms (id),
  author_id BLOB NOT NULL REFERENCES authors (id),
  posts     INTEGER NOT NULL,
  PRIMARY KEY (room_id, author_id)
) WITHOUT ROWID;
CREATE INDEX posters_by_author ON posters (author_id, room_id);

CREATE TABLE entries (
  id         BLOB NOT NULL,
  room_id    BLOB NOT NULL REFERENCES rooms (id),
  seq        INTEGER NOT NULL,
  author_id  BLOB NOT NULL REFERENCES authors (id),
  kind       TEXT NOT NULL,
  text       TEXT NOT NULL,
  mentions   TEXT,
  cascade_root_id BLOB NOT NULL,
  cascade_depth   INTEGER NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX entries_by_seq ON entries (room_id, seq);
CREATE UNIQUE INDEX entries_by_id ON entries (id);

-- Posts that name another author than their own.
CREATE TABLE mentions (
  room_id   BLOB NOT NULL,
  author_id BLOB NOT NULL,
  seq       INTEGER NOT NULL,
  PRIMARY KEY (room_id, author_id, seq)
) WITHOUT ROWID;

-- audience is null for whoever sees a scope, empty for the owner, else one author.
-- bytes_total sums the bytes of all events up to this one, so that the log's size is a subtraction.
CREATE TABLE events (
  seq         INTEGER PRIMARY KEY,
  at          INTEGER NOT NULL,
  type        TEXT NOT NULL,
  scope       TEXT NOT NULL,
  also        TEXT NOT NULL,
  actor_id    BLOB,
  audience    BLOB,
  data        TEXT NOT NULL,
  bytes_total INTEGER NOT NULL
);

CREATE TABLE event_scopes (
  scope TEXT NOT NULL,
  seq   INTEGER NOT NULL,
  PRIMARY KEY (scope, seq)
) WITHOUT ROWID;
