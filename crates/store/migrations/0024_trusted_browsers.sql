-- Addresses that `guildhall open` shows; each is opened once.
CREATE TABLE open_links (
  digest     BLOB PRIMARY KEY NOT NULL CHECK (length(digest) = 32),
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Browsers that opened one: their connections are a person's, also where nobody can tell whose.
CREATE TABLE trusted_browsers (
  digest     BLOB PRIMARY KEY NOT NULL CHECK (length(digest) = 32),
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
