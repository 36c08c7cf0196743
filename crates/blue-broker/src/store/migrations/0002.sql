-- What the forge said that its grant to a person's tokens holds; unknown for older rows.
ALTER TABLE users ADD COLUMN forge_scope TEXT;
