-- Tables of the OAuth provider. Secrets, codes and cookies are kept as hashes.
CREATE TABLE IF NOT EXISTS oauth_keys (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  pkcs8 BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS oauth_apps (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id INTEGER NOT NULL REFERENCES users(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  client_id TEXT NOT NULL UNIQUE,
  secret_hash TEXT NOT NULL,
  confidential INTEGER NOT NULL,
  skip_secondary INTEGER NOT NULL DEFAULT 0,
  redirect_uris TEXT NOT NULL,           -- JSON list
  created_at INTEGER NOT NULL
);
-- Three applications are built into the forge; ours are numbered after them.
INSERT INTO sqlite_sequence (name, seq)
  SELECT 'oauth_apps', 3 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'oauth_apps');
CREATE TABLE IF NOT EXISTS oauth_grants (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  app_id INTEGER NOT NULL REFERENCES oauth_apps(id) ON DELETE CASCADE,
  user_id INTEGER NOT NULL REFERENCES users(id) ON DELETE CASCADE,
  scope TEXT NOT NULL,
  nonce TEXT NOT NULL DEFAULT '',
  counter INTEGER NOT NULL DEFAULT 1,    -- goes up with every token pair when they rotate
  created_at INTEGER NOT NULL,
  UNIQUE (app_id, user_id)
);
CREATE TABLE IF NOT EXISTS oauth_codes (
  hash TEXT PRIMARY KEY,
  grant_id INTEGER NOT NULL REFERENCES oauth_grants(id) ON DELETE CASCADE,
  method TEXT NOT NULL,
  challenge TEXT NOT NULL,
  valid_until INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS web_sessions (
  hash TEXT PRIMARY KEY,
  user_id INTEGER REFERENCES users(id) ON DELETE CASCADE,
  data TEXT NOT NULL,                    -- JSON: what the next form is checked against
  valid_until INTEGER NOT NULL
);
