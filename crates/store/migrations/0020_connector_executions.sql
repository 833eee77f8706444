-- What is granted of connectors, and what was run. Source: contract 5.5 and 5.6.
-- Connections and instances are named without a reference: what was run with them stays known
-- when they are gone, and what is granted is taken away by whoever gives a connection up.

-- Operations as they were when they were reviewed; rows are never changed. number is the order of
-- discovery. input_schema is JSON, can be long and stands last.
CREATE TABLE connector_revisions (
  number          INTEGER PRIMARY KEY,
  id              BLOB NOT NULL UNIQUE,
  provider_id     BLOB NOT NULL,
  toolkit         TEXT NOT NULL,
  toolkit_version TEXT NOT NULL,
  operation_slug  TEXT NOT NULL,
  schema_hash     TEXT NOT NULL,
  classification  TEXT NOT NULL,
  retry_policy    TEXT NOT NULL,
  title           TEXT NOT NULL,
  description     TEXT NOT NULL,
  discovered_at   INTEGER NOT NULL,
  input_schema    TEXT NOT NULL,
  UNIQUE (provider_id, toolkit, toolkit_version, operation_slug, schema_hash, classification,
    retry_policy)
);

-- Reviews, and which revisions each showed.
CREATE TABLE connector_reviews (
  id            BLOB NOT NULL PRIMARY KEY,
  connection_id BLOB NOT NULL,
  provider_id   BLOB NOT NULL,
  toolkit       TEXT NOT NULL,
  generation    INTEGER NOT NULL,
  expires_at    INTEGER NOT NULL,
  applied_at    INTEGER
) WITHOUT ROWID;
CREATE INDEX connector_reviews_by_end ON connector_reviews (expires_at);
CREATE TABLE connector_review_revisions (
  review_id   BLOB NOT NULL REFERENCES connector_reviews (id) ON DELETE CASCADE,
  revision_id BLOB NOT NULL REFERENCES connector_revisions (id),
  PRIMARY KEY (review_id, revision_id)
) WITHOUT ROWID;

-- What is granted with a connection: to single agents, and to every one.
CREATE TABLE connector_grants (
  connection_id BLOB NOT NULL,
  agent_id      BLOB NOT NULL REFERENCES agents (id),
  revision_id   BLOB NOT NULL REFERENCES connector_revisions (id),
  PRIMARY KEY (connection_id, agent_id, revision_id)
) WITHOUT ROWID;
CREATE INDEX connector_grants_of_agent ON connector_grants (agent_id, connection_id);
CREATE TABLE connector_every_agent (
  connection_id BLOB NOT NULL,
  revision_id   BLOB NOT NULL REFERENCES connector_revisions (id),
  PRIMARY KEY (connection_id, revision_id)
) WITHOUT ROWID;

-- What a session says of a connection; no row where it says nothing.
CREATE TABLE connector_overrides (
  connection_id BLOB NOT NULL,
  session_id    BLOB NOT NULL REFERENCES sessions (id),
  is_on         INTEGER NOT NULL,
  PRIMARY KEY (connection_id, session_id)
) WITHOUT ROWID;
CREATE INDEX connector_overrides_of_session ON connector_overrides (session_id, connection_id);

-- Executions. number is the order in which they began. claim and fingerprint are those of the
-- request, as in repeats, so that a repeat finds an execution that the end of the server cut.
-- requester is whose request it was, as in approvals. Neither arguments nor data are kept.
CREATE TABLE connector_executions (
  number         INTEGER PRIMARY KEY,
  id             BLOB NOT NULL UNIQUE,
  agent_id       BLOB NOT NULL,
  connection_id  BLOB NOT NULL,
  revision_id    BLOB NOT NULL,
  surface        TEXT NOT NULL,
  classification TEXT NOT NULL,
  author_id      BLOB NOT NULL,
  requester      BLOB NOT NULL,
  claim          BLOB UNIQUE,
  fingerprint    BLOB,
  attempt_count  INTEGER NOT NULL,
  status         TEXT,
  code           TEXT,
  message        TEXT,
  started_at     INTEGER NOT NULL,
  ended_at       INTEGER
);
CREATE INDEX connector_executions_open ON connector_executions (number) WHERE ended_at IS NULL;

-- Attempts: each row is there before anything of it is sent. What listings are narrowed by
-- stands in the row itself.
CREATE TABLE connector_attempts (
  number        INTEGER PRIMARY KEY,
  execution     INTEGER NOT NULL REFERENCES connector_executions (number),
  attempt       INTEGER NOT NULL,
  agent_id      BLOB NOT NULL,
  connection_id BLOB NOT NULL,
  requester     BLOB NOT NULL,
  status        TEXT,
  code          TEXT,
  started_at    INTEGER NOT NULL,
  ended_at      INTEGER,
  UNIQUE (execution, attempt)
);
CREATE INDEX connector_attempts_of_agent ON connector_attempts (agent_id, number);
CREATE INDEX connector_attempts_of_connection ON connector_attempts (connection_id, number);
CREATE INDEX connector_attempts_of_requester ON connector_attempts (requester, number);
