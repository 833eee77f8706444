-- Canvas documents of rooms and sessions: one table, the same rules.
-- scope is `room:<id>` or `session:<id>`; content is JSON, its title already made.
-- key is what makes a document the same when it is opened again; it stays when the content changes.
-- Both can be long and stand last, so that reading the others does not walk their pages.
CREATE TABLE canvas_documents (
  id                   BLOB PRIMARY KEY,
  scope                TEXT NOT NULL,
  author_id            BLOB NOT NULL REFERENCES authors (id),
  pinned               INTEGER NOT NULL,
  position             INTEGER NOT NULL,
  rev                  INTEGER NOT NULL,
  last_touched_by      BLOB NOT NULL REFERENCES authors (id),
  last_touched_at      INTEGER NOT NULL,
  source_label         TEXT NOT NULL,
  tree_kind            TEXT NOT NULL,
  ahead_of_main        INTEGER NOT NULL,
  opened_at            INTEGER NOT NULL,
  last_active_at       INTEGER NOT NULL,
  thread_root_entry_id BLOB,
  editing_by           BLOB,
  editing_until        INTEGER,
  key                  TEXT,
  content              TEXT NOT NULL
);
CREATE UNIQUE INDEX canvas_documents_by_position ON canvas_documents (scope, position);
CREATE UNIQUE INDEX canvas_documents_by_key ON canvas_documents (scope, key) WHERE key IS NOT NULL;
CREATE INDEX canvas_documents_unpinned ON canvas_documents (scope, position, id, editing_until) WHERE pinned = 0;
CREATE INDEX canvas_documents_edited ON canvas_documents (editing_until) WHERE editing_until IS NOT NULL;
