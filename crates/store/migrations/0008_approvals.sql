-- What a person must decide: one table for all kinds. Source: contract 4.5, 3.8.
-- kind: tool_call, question; also capability, repin, access, whose routes are others.
-- capability is the kind itself for tool_call and question, else what is asked for, as mcp.add.
-- requested_by is null where the agent itself asks.
-- tool_call_id is '' where the ask is about no call.
-- A pending row with detached_at waits for a person, and its agent is gone; what a person grants
-- to it counts until grant_expires_at. consumed_at is when a yes was used, or when an agent that
-- was gone heard of a no.
-- withdrawn_at beside a yes says that its turn was cancelled afterwards: if it reached nobody, it
-- is not kept for later.
-- room_turn is the room's turn that asked. words is the message that tells the agent of a yes, or
-- of answers, that were given when it was gone.
-- body is what the card shows and can be long: it stands last, so that reading the others does
-- not walk its pages.
CREATE TABLE approvals (
  id               BLOB PRIMARY KEY,
  kind             TEXT NOT NULL,
  state            TEXT NOT NULL,
  capability       TEXT NOT NULL,
  requested_by     BLOB REFERENCES authors (id),
  agent_id         BLOB,
  session_id       BLOB,
  room_id          BLOB,
  tool_call_id     TEXT NOT NULL,
  digest           TEXT NOT NULL,
  opened_at        INTEGER NOT NULL,
  parks_at         INTEGER,
  expires_at       INTEGER NOT NULL,
  parked_at        INTEGER,
  detached_at      INTEGER,
  decided_at       INTEGER,
  decided_by       BLOB REFERENCES authors (id),
  deny_reason      TEXT NOT NULL,
  withdrawn_at     INTEGER,
  withdrawn_by     BLOB REFERENCES authors (id),
  grant_expires_at INTEGER,
  consumed_at      INTEGER,
  room_turn        BLOB,
  words            BLOB,
  options          TEXT NOT NULL,
  body             TEXT NOT NULL
);
CREATE INDEX approvals_pending ON approvals (opened_at, id) WHERE state = 'pending';
CREATE INDEX approvals_pending_of_session ON approvals (session_id, opened_at, id) WHERE state = 'pending';
CREATE INDEX approvals_parking ON approvals (parks_at) WHERE state = 'pending' AND parked_at IS NULL;
CREATE INDEX approvals_expiring ON approvals (expires_at) WHERE state = 'pending';
CREATE INDEX approvals_lapsing ON approvals (grant_expires_at) WHERE state = 'granted' AND grant_expires_at IS NOT NULL;
CREATE INDEX approvals_by_call ON approvals (session_id, tool_call_id, kind, opened_at, id) WHERE session_id IS NOT NULL;
CREATE INDEX approvals_used ON approvals (session_id, consumed_at) WHERE state = 'consumed';
CREATE INDEX approvals_by_words ON approvals (words) WHERE words IS NOT NULL;
CREATE INDEX approvals_granted ON approvals (session_id, digest) WHERE state = 'granted';
CREATE INDEX approvals_denied_unheard ON approvals (session_id, digest) WHERE state = 'denied' AND detached_at IS NOT NULL AND consumed_at IS NULL;
