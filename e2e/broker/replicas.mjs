// A grant that ends at one replica is over at the other: replicas.mjs FIRST SECOND CLIENT <TOKEN

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

const [first, second, client] = process.argv.slice(2);
const token = readFileSync(0, 'utf8').trim();
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
const opens = async (broker) => (await fetch(`${broker}/mcp`, { method: 'POST', headers, body })).status;

// Both know it by heart when it ends.
assert.deepEqual([await opens(first), await opens(second)], [200, 200]);
const ended = await fetch(`${first}/revoke`, { method: 'POST', body: new URLSearchParams({ token, client_id: client }) });
assert.equal(ended.status, 200, await ended.text());
assert.deepEqual([await opens(second), await opens(first)], [401, 401]);
