-- Provider instances of the connectors and what they can do. Source: contract 5.1 and 5.3.
-- number is the order of addition; unavailable says why an instance cannot be used, null while
-- it can; generation rises with every change of the instance, a toolkit or a secret.
CREATE TABLE connector_providers (
  number      INTEGER PRIMARY KEY,
  id          BLOB NOT NULL UNIQUE,
  kind        TEXT NOT NULL,
  label       TEXT NOT NULL,
  unavailable TEXT,
  generation  INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL
);

-- number is the order in which toolkits were put, which is that of the catalog; auth, account, overrides and left_out are
-- JSON; sealed is the client secret of an OAuth sign-in, encrypted, null where there is none.
-- words is what a search in the catalog looks at, in small letters; it can be long and stands
-- last, so that reading the others does not walk its pages.
CREATE TABLE connector_toolkits (
  number          INTEGER PRIMARY KEY,
  provider_id     BLOB NOT NULL REFERENCES connector_providers (id),
  slug            TEXT NOT NULL,
  display_name    TEXT NOT NULL,
  description     TEXT NOT NULL,
  document_url    TEXT,
  base_url        TEXT,
  url             TEXT,
  auth_kind       TEXT NOT NULL,
  auth            TEXT NOT NULL,
  account         TEXT,
  version         TEXT NOT NULL,
  operation_count INTEGER NOT NULL,
  left_out_count  INTEGER NOT NULL,
  sealed          BLOB,
  left_out        TEXT NOT NULL,
  overrides       TEXT NOT NULL,
  words           TEXT NOT NULL,
  UNIQUE (provider_id, slug)
);

-- The operations of a toolkit as they are listed now; number is the order they are listed in.
-- schema_hash is that of input_schema: with it an operation is held against what was granted
-- without reading its schema. binding and input_schema are JSON, can be long and stand last.
CREATE TABLE connector_operations (
  number         INTEGER PRIMARY KEY,
  provider_id    BLOB NOT NULL,
  toolkit        TEXT NOT NULL,
  slug           TEXT NOT NULL,
  title          TEXT NOT NULL,
  description    TEXT NOT NULL,
  classification TEXT NOT NULL,
  retry_policy   TEXT NOT NULL,
  schema_hash    TEXT NOT NULL,
  binding        TEXT NOT NULL,
  input_schema   TEXT NOT NULL,
  UNIQUE (provider_id, toolkit, slug),
  FOREIGN KEY (provider_id, toolkit) REFERENCES connector_toolkits (provider_id, slug)
);
CREATE INDEX connector_operations_of_toolkit ON connector_operations (provider_id, toolkit, number);
