-- Files of rooms. entry_id, entry_seq and place are null until the file is posted; picture is
-- what the bytes are, whatever mime_type declares.

CREATE TABLE attachments (
  id          BLOB PRIMARY KEY,
  room_id     BLOB NOT NULL REFERENCES rooms (id),
  uploader_id BLOB NOT NULL REFERENCES authors (id),
  name        TEXT NOT NULL,
  mime_type   TEXT NOT NULL,
  picture     TEXT,
  size        INTEGER NOT NULL,
  sha256      BLOB NOT NULL,
  entry_id    BLOB,
  entry_seq   INTEGER,
  place       INTEGER,
  created_at  INTEGER NOT NULL
);
CREATE UNIQUE INDEX attachments_by_entry ON attachments (entry_id, place)
  WHERE entry_id IS NOT NULL;
CREATE INDEX attachments_unposted ON attachments (created_at) WHERE entry_id IS NULL;
CREATE INDEX attachments_by_blob ON attachments (sha256);

-- Bytes of all blobs together, each counted once however many attachments share it.
CREATE TABLE attachment_store (
  id    INTEGER PRIMARY KEY CHECK (id = 1),
  bytes INTEGER NOT NULL
);
INSERT INTO attachment_store (id, bytes) VALUES (1, 0);
