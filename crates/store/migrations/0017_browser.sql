-- What outlives a server of its local browser: one row, once there was one.
CREATE TABLE browser (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  -- Of the last browser.
  mode       TEXT    NOT NULL,
  -- No state had a higher revision.
  revision   INTEGER NOT NULL,
  -- The process that runs; left behind by a server that ended before it.
  connection BLOB,
  -- The session with which a tab is shared, and the process which that was told of.
  session    BLOB,
  shared_in  BLOB
);
