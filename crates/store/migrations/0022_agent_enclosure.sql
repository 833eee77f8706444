-- An agent is enclosed unless a person says otherwise.
ALTER TABLE agents ADD COLUMN enclosed INTEGER NOT NULL DEFAULT 1 CHECK (enclosed IN (0, 1));
