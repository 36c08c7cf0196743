-- Times are milliseconds since 1970, hashes are SHA-256, sealed columns are opaque.
-- BLOB becomes BYTEA on PostgreSQL.

CREATE TABLE clients (
    id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    redirect_uris TEXT NOT NULL,
    auth_method TEXT NOT NULL,
    secret_hash BLOB,
    metadata TEXT NOT NULL,
    fingerprint BLOB UNIQUE,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT
);
CREATE INDEX clients_by_use ON clients (last_used_at, created_at);

CREATE TABLE users (
    id TEXT NOT NULL PRIMARY KEY,
    forge TEXT NOT NULL,
    forge_user TEXT NOT NULL,
    login TEXT NOT NULL,
    key_id TEXT NOT NULL,
    wrapped_key BLOB NOT NULL,
    state TEXT NOT NULL,
    version BIGINT NOT NULL,
    access_sealed BLOB,
    refresh_sealed BLOB,
    access_expires_at BIGINT NOT NULL,
    lease_owner TEXT,
    lease_until BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (forge, forge_user)
);

CREATE TABLE authorizations (
    id TEXT NOT NULL PRIMARY KEY,
    stage TEXT NOT NULL,
    client_id TEXT,
    redirect_uri TEXT NOT NULL,
    client_state TEXT,
    scope TEXT NOT NULL,
    resource TEXT NOT NULL,
    challenge TEXT NOT NULL,
    browser_hash BLOB NOT NULL,
    form_hash BLOB NOT NULL,
    upstream_hash BLOB UNIQUE,
    user_id TEXT,
    problem TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX authorizations_by_expiry ON authorizations (expires_at);

CREATE TABLE codes (
    hash BLOB NOT NULL PRIMARY KEY,
    client_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    challenge TEXT NOT NULL,
    resource TEXT NOT NULL,
    scope TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    grant_id TEXT
);
CREATE INDEX codes_by_expiry ON codes (expires_at);

CREATE TABLE grants (
    id TEXT NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL,
    client_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    resource TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    revoked_at BIGINT,
    revoked_why TEXT,
    refresh_window BIGINT NOT NULL,
    refresh_count BIGINT NOT NULL
);
CREATE INDEX grants_by_user ON grants (user_id, client_id);
CREATE INDEX grants_by_client ON grants (client_id);

CREATE TABLE pairs (
    id TEXT NOT NULL PRIMARY KEY,
    grant_id TEXT NOT NULL,
    parent TEXT,
    access_hash BLOB NOT NULL UNIQUE,
    refresh_hash BLOB NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    access_expires_at BIGINT NOT NULL,
    refresh_expires_at BIGINT NOT NULL,
    access_used_at BIGINT,
    refresh_used_at BIGINT,
    revoked_at BIGINT
);
CREATE INDEX pairs_by_grant ON pairs (grant_id);
CREATE INDEX pairs_by_parent ON pairs (parent);
CREATE INDEX pairs_by_expiry ON pairs (refresh_expires_at);

CREATE TABLE consents (
    user_id TEXT NOT NULL,
    client_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    first_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    times BIGINT NOT NULL,
    PRIMARY KEY (user_id, client_id)
);

CREATE TABLE page_sessions (
    hash BLOB NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL,
    form_hash BLOB NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX page_sessions_by_expiry ON page_sessions (expires_at);

CREATE TABLE audit (
    id TEXT NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    event TEXT NOT NULL,
    client_id TEXT,
    user_id TEXT,
    grant_id TEXT,
    request_id TEXT,
    detail TEXT NOT NULL
);
CREATE INDEX audit_by_time ON audit (at);
