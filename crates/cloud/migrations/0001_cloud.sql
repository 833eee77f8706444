-- Accounts, what they are linked to, and the requests of devices. Secrets stand here as digests.
CREATE TABLE accounts (
  id TEXT PRIMARY KEY,
  email TEXT NOT NULL UNIQUE,
  password TEXT,            -- argon2id, once the one-time link was followed
  customer TEXT,            -- the id of the payment service
  customer_key TEXT,        -- names the wish for a customer until it is answered
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE links (
  account_id TEXT PRIMARY KEY REFERENCES accounts (id),
  digest BLOB NOT NULL UNIQUE,
  expires_at INTEGER NOT NULL
) STRICT;

CREATE TABLE sessions (
  digest BLOB PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_of_account ON sessions (account_id);
CREATE INDEX sessions_by_end ON sessions (expires_at);

CREATE TABLE devices (
  device_digest BLOB PRIMARY KEY,
  user_digest BLOB NOT NULL UNIQUE,
  state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'issued')),
  account_id TEXT REFERENCES accounts (id),
  name TEXT NOT NULL,
  asked_from TEXT NOT NULL, -- the address, as people are shown it
  network TEXT NOT NULL,    -- what is counted as one address
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  polled_at INTEGER,
  CHECK ((state = 'approved') <= (account_id IS NOT NULL))
) STRICT;
CREATE INDEX devices_by_end ON devices (expires_at);
CREATE INDEX devices_of_network ON devices (network);

CREATE TABLE instances (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  key_digest BLOB NOT NULL UNIQUE,
  device_digest BLOB NOT NULL UNIQUE, -- of the device code it was issued for
  name TEXT NOT NULL,
  platform TEXT NOT NULL,
  version TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_seen_at INTEGER
) STRICT;
