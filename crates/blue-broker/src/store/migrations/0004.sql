-- The secret that hashes of tokens are keyed with, wrapped by a master key; one row.
-- The program then keys the hashes of tokens, codes, page sessions and client secrets.
CREATE TABLE token_keys (
    id BIGINT NOT NULL PRIMARY KEY,
    key_id TEXT NOT NULL,
    wrapped_key BLOB NOT NULL
);
-- The time that the sweep goes by, which a clock far ahead does not move.
CREATE TABLE sweep_clock (
    id BIGINT NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL
);
-- Registrations are counted and forgotten apart from other events.
CREATE INDEX audit_by_event ON audit (event, at);
-- Links and kinds of registered clients, which nothing reads.
UPDATE clients SET metadata = '{}' WHERE kind = 'dynamic';
