-- Signing in with tool servers. Source: contract 4.8.
-- What is known of an entry's sign-in: url is the exact address it counts for; client and access
-- are JSON, encrypted; expires_at is when the access token ends, null where that was not said.
CREATE TABLE mcp_signins (
  agent_id      BLOB NOT NULL REFERENCES agents (id),
  folded        TEXT NOT NULL,
  url           TEXT NOT NULL,
  client        BLOB,
  client_origin TEXT,
  access        BLOB,
  expires_at    INTEGER,
  PRIMARY KEY (agent_id, folded)
) WITHOUT ROWID;

-- Sign-ins on their way, and those that ended not long ago.
-- ticket and state are digests of what an address holds; state is null but while a person is at
-- the authorization server, and so is sealed, JSON, encrypted: what the answer is held against.
CREATE TABLE mcp_flows (
  id         BLOB PRIMARY KEY,
  agent_id   BLOB NOT NULL REFERENCES agents (id),
  name       TEXT NOT NULL,
  folded     TEXT NOT NULL,
  url        TEXT NOT NULL,
  session_id BLOB,
  phase      TEXT NOT NULL,
  code       TEXT,
  tool_count INTEGER,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  ticket     BLOB NOT NULL UNIQUE,
  state      BLOB UNIQUE,
  sealed     BLOB
) WITHOUT ROWID;
CREATE INDEX mcp_flows_of_server ON mcp_flows (agent_id, folded, phase);
CREATE INDEX mcp_flows_by_phase ON mcp_flows (phase, expires_at);
