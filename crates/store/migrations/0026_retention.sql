-- What is dropped some time after its end is found by that.
CREATE INDEX tokens_revoked ON tokens (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX connector_executions_ended ON connector_executions (ended_at)
  WHERE ended_at IS NOT NULL;
