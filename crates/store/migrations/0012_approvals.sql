-- Approvals of deeds that programs and agents ask for, beside those that sessions ask.
-- requester is whose a request is: the author of an agent or person, or the id of an API key;
-- null where a session or the server asks.
-- token_digest is the SHA-256 of the token with which the requester repeats its request. The
-- token itself is derived from the id and the host key each time it is shown.
-- body of these kinds is {summary, card, why}; tool_call_id is '', options is '[]', parks_at null.
-- Of a granted row grant_expires_at is until when it may be used, for all kinds.
ALTER TABLE approvals ADD COLUMN requester BLOB;
ALTER TABLE approvals ADD COLUMN token_digest BLOB;
-- Listings: by state, beside it about an agent, of a session, of a requester; ids follow time.
CREATE INDEX approvals_by_state ON approvals (state, id);
CREATE INDEX approvals_by_kind ON approvals (kind, state, id);
CREATE INDEX approvals_by_agent ON approvals (agent_id, state, id) WHERE agent_id IS NOT NULL;
CREATE INDEX approvals_by_session ON approvals (session_id, state, id) WHERE session_id IS NOT NULL;
CREATE INDEX approvals_by_requester ON approvals (requester, state, id) WHERE requester IS NOT NULL;
-- What a gated request finds: its token, and the requester's own rows for exactly this.
CREATE UNIQUE INDEX approvals_by_token ON approvals (token_digest) WHERE token_digest IS NOT NULL;
CREATE INDEX approvals_by_request ON approvals (requester, digest, state, id) WHERE requester IS NOT NULL;
-- What is dropped a while after its end.
CREATE INDEX approvals_over ON approvals (COALESCE(grant_expires_at, expires_at))
  WHERE state IN ('denied', 'expired', 'withdrawn', 'consumed');
