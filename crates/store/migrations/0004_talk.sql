-- Threads, reactions, redaction and search.

-- number is an entry's place among all entries of the house; the index of words is kept by it.
-- told_in is the event that brought the entry, so that redaction finds its payload.
ALTER TABLE entries ADD COLUMN number INTEGER;
ALTER TABLE entries ADD COLUMN told_in INTEGER;
ALTER TABLE entries ADD COLUMN thread_root_id BLOB;
ALTER TABLE entries ADD COLUMN redacted_at INTEGER;
UPDATE entries SET number = rowid;
UPDATE entries SET told_in = told.seq
  FROM (SELECT seq, unhex(replace(json_extract(data, '$.entry.id'), '-', '')) AS entry_id
        FROM events WHERE type = 'entry_added') AS told
  WHERE told.entry_id = entries.id;
CREATE UNIQUE INDEX entries_by_number ON entries (number);
CREATE INDEX entries_by_thread ON entries (thread_root_id, seq) WHERE thread_root_id IS NOT NULL;

-- What others added to an entry: how many replies, the newest one, and the reactions as JSON.
-- It stands beside the entry, so that a reply or a reaction never writes a long text again.
CREATE TABLE responses (
  entry_id          BLOB PRIMARY KEY,
  reply_count       INTEGER NOT NULL DEFAULT 0,
  last_reply_at     INTEGER,
  last_reply_number INTEGER,
  reactions         TEXT
) WITHOUT ROWID;

-- Who wrote in a thread, its root or a reply.
CREATE TABLE thread_writers (
  author_id BLOB NOT NULL,
  root_id   BLOB NOT NULL,
  PRIMARY KEY (author_id, root_id)
) WITHOUT ROWID;

-- When agents reacted lately; a reaction taken back stays counted.
CREATE TABLE agent_reactions (
  room_id   BLOB NOT NULL,
  author_id BLOB NOT NULL,
  at        INTEGER NOT NULL
);
CREATE INDEX agent_reactions_by_agent ON agent_reactions (room_id, author_id, at);

-- The words of all entries by their number, each with its room as one more word, so that the
-- search of one room skips all others. It keeps no text; what is deleted leaves no trace in it.
CREATE VIRTUAL TABLE entry_words USING fts5 (
  room, text, content = '', columnsize = 0, prefix = '2 3',
  tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO entry_words (entry_words, rank) VALUES ('secure-delete', 1);
INSERT INTO entry_words (rowid, room, text)
  SELECT number, hex(room_id), text FROM entries ORDER BY number;
