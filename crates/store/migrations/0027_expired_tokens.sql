-- What is dropped some time after it expired is found by its last use.
CREATE INDEX tokens_unused ON tokens (coalesce(last_used_at, created_at))
  WHERE revoked_at IS NULL;
