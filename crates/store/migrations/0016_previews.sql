-- Which dev server each port of ours showed last, and when, so that what its pages keep in the
-- browser is found again, and is met by no other dev server as long as there are ports.
CREATE TABLE preview_ports (
  listen_port INTEGER PRIMARY KEY,
  port        INTEGER NOT NULL,
  used_at     INTEGER NOT NULL
);
