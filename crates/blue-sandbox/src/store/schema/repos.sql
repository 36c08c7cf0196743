CREATE TABLE IF NOT EXISTS repos (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  owner_id INTEGER NOT NULL REFERENCES users(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  key TEXT NOT NULL,                     -- name in lower case
  default_branch TEXT NOT NULL,
  private INTEGER NOT NULL DEFAULT 0,
  archived_at INTEGER,
  fork_of INTEGER,
  next_index INTEGER NOT NULL DEFAULT 1, -- next number of a pull request or issue
  settings TEXT NOT NULL,                -- JSON: what an owner can edit
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (owner_id, key)
);
CREATE TABLE IF NOT EXISTS renames (
  owner_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  repo_id INTEGER NOT NULL REFERENCES repos(id) ON DELETE CASCADE,
  PRIMARY KEY (owner_id, key)
);
CREATE TABLE IF NOT EXISTS collaborators (
  repo_id INTEGER NOT NULL REFERENCES repos(id) ON DELETE CASCADE,
  user_id INTEGER NOT NULL REFERENCES users(id) ON DELETE CASCADE,
  permission TEXT NOT NULL,              -- read, write, admin
  PRIMARY KEY (repo_id, user_id)
);
CREATE TABLE IF NOT EXISTS protections (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repo_id INTEGER NOT NULL REFERENCES repos(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  priority INTEGER NOT NULL DEFAULT 0,
  rule TEXT NOT NULL,                    -- JSON
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (repo_id, name)
);
