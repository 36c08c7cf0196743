CREATE TABLE IF NOT EXISTS statuses (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repo_id INTEGER NOT NULL REFERENCES repos(id) ON DELETE CASCADE,
  sha TEXT NOT NULL,
  state TEXT NOT NULL,
  context TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  target_url TEXT NOT NULL DEFAULT '',
  creator_id INTEGER,
  created_at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS statuses_by_sha ON statuses (repo_id, sha);
CREATE TABLE IF NOT EXISTS runs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repo_id INTEGER NOT NULL REFERENCES repos(id) ON DELETE CASCADE,
  number INTEGER NOT NULL,               -- per repository
  title TEXT NOT NULL,
  workflow TEXT NOT NULL,                -- file name
  event TEXT NOT NULL,
  ref TEXT NOT NULL,
  sha TEXT NOT NULL,
  actor_id INTEGER NOT NULL,
  attempt INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  repo_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  status TEXT NOT NULL,                  -- waiting, queued, in_progress, completed
  conclusion TEXT,                       -- success, failure, cancelled, skipped
  log TEXT NOT NULL DEFAULT '',
  context TEXT NOT NULL DEFAULT '',      -- status to post with the result; empty: none
  result TEXT,                           -- JSON: what it becomes by itself when due
  due_at INTEGER,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER
);
CREATE INDEX IF NOT EXISTS jobs_by_run ON jobs (run_id);
-- Attempts of a job that a re-run replaced; the present one is in the job itself.
CREATE TABLE IF NOT EXISTS attempts (
  job_id INTEGER NOT NULL REFERENCES jobs(id) ON DELETE CASCADE,
  attempt INTEGER NOT NULL,
  conclusion TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  PRIMARY KEY (job_id, attempt)
);
-- Runs that wait until a person approves them.
CREATE TABLE IF NOT EXISTS held_runs (
  run_id INTEGER PRIMARY KEY REFERENCES runs(id) ON DELETE CASCADE
);
