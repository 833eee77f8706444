-- Revisions for entity tags, answers kept for repeated posts, and settings.

-- How often an object's stored fields changed; its entity tag.
ALTER TABLE authors ADD COLUMN rev INTEGER NOT NULL DEFAULT 1;
ALTER TABLE agents  ADD COLUMN rev INTEGER NOT NULL DEFAULT 1;
ALTER TABLE rooms   ADD COLUMN rev INTEGER NOT NULL DEFAULT 1;

-- What was answered to a post with an idempotency key. claim is the SHA-256 of caller, method,
-- path and key; body is null when the answer showed a secret, and secret_of names whose.
CREATE TABLE repeats (
  claim       BLOB PRIMARY KEY,
  fingerprint BLOB NOT NULL,
  status      INTEGER NOT NULL,
  body        BLOB,
  secret_of   TEXT NOT NULL DEFAULT '',
  created_at  INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX repeats_by_age ON repeats (created_at);

-- The bytes of all kept bodies together, in one row.
CREATE TABLE repeats_size (bytes INTEGER NOT NULL);
INSERT INTO repeats_size (bytes) VALUES (0);
CREATE TRIGGER repeats_added AFTER INSERT ON repeats BEGIN
  UPDATE repeats_size SET bytes = bytes + COALESCE(LENGTH(NEW.body), 0);
END;
CREATE TRIGGER repeats_changed AFTER UPDATE OF body ON repeats BEGIN
  UPDATE repeats_size
  SET bytes = bytes + COALESCE(LENGTH(NEW.body), 0) - COALESCE(LENGTH(OLD.body), 0);
END;
CREATE TRIGGER repeats_dropped AFTER DELETE ON repeats BEGIN
  UPDATE repeats_size SET bytes = bytes - COALESCE(LENGTH(OLD.body), 0);
END;

-- stored is what a person set here, configured what a file, the environment or a flag said at
-- the last start, in the words of source; values are JSON.
CREATE TABLE settings (
  key        TEXT PRIMARY KEY,
  stored     TEXT,
  configured TEXT,
  source     TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
