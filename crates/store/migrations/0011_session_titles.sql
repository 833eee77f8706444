-- Whether a person gave the session its title, which what the agent reports then leaves alone.
ALTER TABLE sessions ADD COLUMN named INTEGER NOT NULL DEFAULT 0;
