-- What runtimes said of themselves, what was told of them, and people's words for modes in which
-- agents act unattended.

-- The facts of the last successful start of a runtime, by the version that was installed then;
-- version is '' where the installed files name none.
CREATE TABLE runtime_facts (
  runtime TEXT NOT NULL,
  version TEXT NOT NULL,
  facts   TEXT NOT NULL,
  at      INTEGER NOT NULL,
  PRIMARY KEY (runtime, version)
);

-- The last check of a runtime, and what was told of it last; checked_at is null before the first.
CREATE TABLE runtimes (
  runtime    TEXT PRIMARY KEY,
  checked_at INTEGER,
  problem    TEXT NOT NULL,
  installed  INTEGER NOT NULL,
  version    TEXT NOT NULL
);

CREATE TABLE agent_acknowledgements (
  agent_id  BLOB NOT NULL REFERENCES agents (id),
  mode      TEXT NOT NULL,
  stop      TEXT NOT NULL,
  asks      TEXT NOT NULL,
  reach     TEXT NOT NULL,
  author_id BLOB NOT NULL REFERENCES authors (id),
  at        INTEGER NOT NULL,
  PRIMARY KEY (agent_id, mode)
);
