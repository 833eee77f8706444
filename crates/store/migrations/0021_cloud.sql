-- The links to cloud services: one row for each address that was configured, so that a key is
-- never shown to another service than the one that gave it. Source: contract 5.9 and 5.10.
CREATE TABLE cloud_links (
  url    TEXT NOT NULL PRIMARY KEY,
  -- The link without its secrets, as JSON.
  link   TEXT NOT NULL,
  -- The key that is held, and what the service is asked with while a code waits; both sealed.
  key    BLOB,
  device BLOB
) WITHOUT ROWID;
