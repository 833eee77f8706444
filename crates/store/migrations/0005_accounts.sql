-- People's accounts with their sign-ins, and API keys.
-- A password is kept as its argon2id hash, a cookie or key as its SHA-256.

CREATE TABLE accounts (
  id         BLOB PRIMARY KEY,
  author_id  BLOB NOT NULL UNIQUE REFERENCES authors (id),
  email      TEXT NOT NULL UNIQUE,
  password   TEXT NOT NULL,
  invited    INTEGER NOT NULL,
  created_at INTEGER NOT NULL
);

CREATE TABLE sign_ins (
  id           BLOB PRIMARY KEY,
  account_id   BLOB NOT NULL REFERENCES accounts (id),
  digest       BLOB NOT NULL UNIQUE,
  created_at   INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL
);
CREATE INDEX sign_ins_by_account ON sign_ins (account_id);

-- A key belongs to an author and not to an account, because in mode local the owner has none.
CREATE TABLE api_keys (
  id           BLOB PRIMARY KEY,
  author_id    BLOB NOT NULL REFERENCES authors (id),
  digest       BLOB NOT NULL UNIQUE,
  label        TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  last_used_at INTEGER
);
CREATE INDEX api_keys_by_author ON api_keys (author_id, id);
