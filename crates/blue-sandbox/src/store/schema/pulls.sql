CREATE TABLE IF NOT EXISTS pulls (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repo_id INTEGER NOT NULL REFERENCES repos(id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  poster_id INTEGER NOT NULL,
  title TEXT NOT NULL,
  body TEXT NOT NULL DEFAULT '',
  state TEXT NOT NULL DEFAULT 'open',    -- open, closed, merged
  head_repo_id INTEGER,
  head_branch TEXT NOT NULL,
  head_sha TEXT NOT NULL,
  base_branch TEXT NOT NULL,
  base_sha TEXT NOT NULL,                -- tip of the base when last looked at; frozen by a merge
  merge_base TEXT NOT NULL,
  mergeable INTEGER NOT NULL DEFAULT 1,  -- answer of the last finished check
  checked_head TEXT NOT NULL DEFAULT '', -- what that answer is about
  checked_base TEXT NOT NULL DEFAULT '',
  stale_until INTEGER NOT NULL DEFAULT 0,-- the old answer is shown until then
  check_until INTEGER NOT NULL DEFAULT 0,-- and "checking" until then
  maintainer_edit INTEGER NOT NULL DEFAULT 0,
  merge_sha TEXT,
  merged_by INTEGER,
  auto_merge TEXT,                       -- JSON: a scheduled merge
  intent TEXT,                           -- JSON: a merge that was begun; settled at the next start
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  closed_at INTEGER,
  UNIQUE (repo_id, number)
);
CREATE TABLE IF NOT EXISTS reviews (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  pull_id INTEGER NOT NULL REFERENCES pulls(id) ON DELETE CASCADE,
  user_id INTEGER NOT NULL,
  state TEXT NOT NULL,                   -- APPROVED, REQUEST_CHANGES, COMMENT, PENDING, REQUEST_REVIEW
  body TEXT NOT NULL DEFAULT '',
  commit_id TEXT NOT NULL,
  official INTEGER NOT NULL DEFAULT 0,
  dismissed INTEGER NOT NULL DEFAULT 0,
  comments TEXT NOT NULL DEFAULT '[]',   -- JSON: comments on lines
  submitted_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS reviews_by_pull ON reviews (pull_id);
CREATE TABLE IF NOT EXISTS comments (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repo_id INTEGER NOT NULL REFERENCES repos(id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  user_id INTEGER NOT NULL,
  body TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
-- Pull requests made by a push to refs/for/: their head is no branch.
CREATE TABLE IF NOT EXISTS agit_pulls (
  pull_id INTEGER PRIMARY KEY REFERENCES pulls(id) ON DELETE CASCADE
);
-- What happened to a pull request, as its timeline shows it.
CREATE TABLE IF NOT EXISTS pull_events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  pull_id INTEGER NOT NULL REFERENCES pulls(id) ON DELETE CASCADE,
  kind TEXT NOT NULL,                    -- pull_scheduled_merge, pull_cancel_scheduled_merge
  user_id INTEGER NOT NULL,
  created_at INTEGER NOT NULL
);
