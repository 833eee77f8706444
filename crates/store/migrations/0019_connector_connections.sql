-- Connections: external accounts that are signed in. Source: contract 5.4.
-- credentials is JSON, encrypted, null once the connection is disconnected; credentials_end is
-- when the token in it ends, null where that was not said.
CREATE TABLE connector_connections (
  id               BLOB PRIMARY KEY,
  provider_id      BLOB NOT NULL,
  toolkit          TEXT NOT NULL,
  label            TEXT NOT NULL,
  account_label    TEXT,
  lifecycle        TEXT NOT NULL,
  account_status   TEXT NOT NULL,
  enabled          INTEGER NOT NULL,
  external_cleanup TEXT NOT NULL,
  credentials      BLOB,
  credentials_end  INTEGER,
  created_at       INTEGER NOT NULL,
  updated_at       INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX connector_connections_of_toolkit
  ON connector_connections (provider_id, toolkit, lifecycle);
-- What a start looks for: credentials that were being given back.
CREATE INDEX connector_connections_to_clean
  ON connector_connections (id) WHERE external_cleanup = 'pending';

-- Flows: how connections come about. They stay, because their keys never expire.
-- attempt counts the moves that were written, and each names the one it follows. ticket and
-- answer_state are digests of what addresses hold; sealed is JSON, encrypted: what is secret of
-- a flow on its way. All three are null when it is over.
CREATE TABLE connector_flows (
  id            BLOB PRIMARY KEY,
  key           TEXT NOT NULL UNIQUE,
  provider_id   BLOB NOT NULL,
  toolkit       TEXT NOT NULL,
  label         TEXT,
  reconnect_of  BLOB,
  generation    INTEGER NOT NULL,
  state         TEXT NOT NULL,
  attempt       INTEGER NOT NULL,
  step          TEXT NOT NULL,
  connection_id BLOB,
  reason        TEXT,
  created_at    INTEGER NOT NULL,
  expires_at    INTEGER NOT NULL,
  completed_at  INTEGER,
  ticket        BLOB UNIQUE,
  answer_state  BLOB UNIQUE,
  sealed        BLOB
) WITHOUT ROWID;
CREATE INDEX connector_flows_open
  ON connector_flows (expires_at) WHERE state IN ('starting', 'pending');
CREATE INDEX connector_flows_by_beginning ON connector_flows (created_at);

-- The clients that registered themselves where accounts of a toolkit sign in (RFC 7591), as
-- JSON, encrypted.
CREATE TABLE connector_clients (
  provider_id BLOB NOT NULL,
  toolkit     TEXT NOT NULL,
  client      BLOB NOT NULL,
  PRIMARY KEY (provider_id, toolkit)
) WITHOUT ROWID;
