-- What a person decided an interaction with, beside yes, no and deny_reason.
-- option_id is the agent's option that a yes selected. answers is a JSON object by question.
ALTER TABLE approvals ADD COLUMN option_id TEXT;
ALTER TABLE approvals ADD COLUMN answers TEXT;
-- The interactions of a session in their order; ids follow time.
CREATE INDEX approvals_of_session ON approvals (session_id, id) WHERE session_id IS NOT NULL;
