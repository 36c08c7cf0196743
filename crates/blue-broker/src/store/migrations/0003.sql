-- Nothing reads it: what was said yes to is in the events and the grants.
DROP TABLE consents;
