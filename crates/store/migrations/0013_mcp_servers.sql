-- Tool servers of agents. Source: contract 4.2.
-- number is the order of addition; folded is the name under which an entry is unique.
-- connection is JSON without values: those of env or headers are JSON in sealed, encrypted, null
-- where there are none. pin is JSON.
-- disabled_by_person says that it was a person who switched the entry off, or refused it.
-- tools is JSON, the definitions that pin holds the digest of; it can be long and stands last, so
-- that reading the others does not walk its pages.
-- rev counts changes of connection and enabled; what the server itself finds out does not count.
CREATE TABLE mcp_servers (
  number             INTEGER PRIMARY KEY,
  agent_id           BLOB NOT NULL REFERENCES agents (id),
  name               TEXT NOT NULL,
  folded             TEXT NOT NULL,
  enabled            INTEGER NOT NULL,
  disabled_by_person INTEGER NOT NULL DEFAULT 0,
  connection         TEXT NOT NULL,
  sealed             BLOB,
  added_at           INTEGER NOT NULL,
  added_by           BLOB NOT NULL REFERENCES authors (id),
  rev                INTEGER NOT NULL DEFAULT 1,
  status             TEXT NOT NULL,
  status_detail      TEXT,
  auth_status        TEXT,
  auth_client_origin TEXT,
  approval_id        BLOB,
  tool_count         INTEGER,
  pin                TEXT NOT NULL,
  tools              TEXT,
  UNIQUE (agent_id, folded)
);
CREATE INDEX mcp_servers_of_agent ON mcp_servers (agent_id, number);

-- Whether the body is encrypted, because the answer holds secrets.
ALTER TABLE repeats ADD COLUMN is_sealed INTEGER NOT NULL DEFAULT 0;
