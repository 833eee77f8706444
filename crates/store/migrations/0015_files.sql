-- Saves of files. Source: contract 6.4 to 6.6.
-- The last save of each file that was committed: request is the fingerprint by which the same
-- request is known again, null for a save of a document.
CREATE TABLE file_saves (
  path     TEXT PRIMARY KEY,
  request  BLOB,
  hash     BLOB NOT NULL,
  saved_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX file_saves_by_age ON file_saves (saved_at);

-- Which identities one file had, one after the other, by our own saves: line is the first of
-- them, at is when a save last came from it or led to it.
CREATE TABLE file_lineage (
  identity TEXT PRIMARY KEY,
  line     TEXT NOT NULL,
  place    INTEGER NOT NULL,
  at       INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX file_lineage_by_age ON file_lineage (at);

-- Saves on their way to the disk: a row that a start finds is of a save that was interrupted.
-- mark names the temporary file and the journal; inode and folder are the file and its folder as
-- they are known again when the machine was started anew; undone is 1 for one that was looked at
-- and is no save any more, while what it set aside or displaced is still needed.
CREATE TABLE file_intents (
  mark        TEXT PRIMARY KEY,
  path        TEXT NOT NULL,
  identity    TEXT NOT NULL,
  inode       TEXT NOT NULL,
  folder      TEXT NOT NULL,
  old         BLOB NOT NULL,
  new         BLOB NOT NULL,
  size        INTEGER NOT NULL,
  request     BLOB NOT NULL,
  via         TEXT NOT NULL,
  author_id   BLOB NOT NULL,
  document_id BLOB,
  event_id    TEXT,
  undone      INTEGER NOT NULL,
  begun_at    INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX file_intents_by_path ON file_intents (path);

-- Which physical file a document is bound to, and how often it was saved since.
CREATE TABLE document_files (
  document_id BLOB PRIMARY KEY REFERENCES canvas_documents (id) ON DELETE CASCADE,
  identity    TEXT NOT NULL,
  bound_at    INTEGER NOT NULL,
  channel_at  INTEGER NOT NULL,
  doc_seq     INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX document_files_by_identity ON document_files (identity);

-- Committed saves of documents, by the client's id; told is 0 for one that was found done after
-- a crash and that nobody was answered yet.
CREATE TABLE document_saves (
  document_id BLOB NOT NULL REFERENCES canvas_documents (id) ON DELETE CASCADE,
  event_id    TEXT NOT NULL,
  request     BLOB NOT NULL,
  bound_at    INTEGER NOT NULL,
  channel_at  INTEGER NOT NULL,
  doc_seq     INTEGER NOT NULL,
  file_hash   BLOB NOT NULL,
  identity    TEXT NOT NULL,
  told        INTEGER NOT NULL,
  PRIMARY KEY (document_id, event_id)
) WITHOUT ROWID;
