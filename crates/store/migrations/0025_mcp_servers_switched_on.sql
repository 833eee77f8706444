-- Switching on needs a card whoever switched the entry off.
ALTER TABLE mcp_servers DROP COLUMN disabled_by_person;
