// The admin's commands beside a running broker: admin.mjs BLUE CONFIG MCP KEPT
//
// KEPT holds the client id and the access token of a user who is signed in.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const [blue, config, mcp, kept] = process.argv.slice(2);
const [client, token] = readFileSync(kept, 'utf8').trim().split('\n');
const broker = new URL(mcp).origin;

function run(...args) {
  const ran = spawnSync(blue, ['broker', ...args, '--config', config], { encoding: 'utf8' });
  return { ...ran, said: `${ran.stdout}${ran.stderr}` };
}
function json(...args) {
  const ran = run(...args, '--json');
  assert.equal(ran.status, 0, ran.said);
  return JSON.parse(ran.stdout);
}
const opens = async () => (await fetch(mcp, { headers: { authorization: `Bearer ${token}` } })).status !== 401;

assert.ok(await opens());

// What there is
const { clients } = json('clients', 'list');
assert.ok(clients.some((one) => one.id === client && one.name === 'curl'), JSON.stringify(clients));
const { users } = json('users', 'list');
const ann = users.find((one) => one.login === 'ann');
assert.ok(ann, JSON.stringify(users));
const { grants } = json('grants', 'list');
const grant = grants.find((one) => one.client_id === client);
assert.equal(grant.user, 'ann', JSON.stringify(grants));
for (const list of ['clients', 'users', 'grants', 'keys']) {
  const ran = run(list, 'list');
  assert.equal(ran.status, 0, ran.said);
  assert.ok(!ran.stdout.includes(token), `${list} list shows a token`);
}

// Everything is well
const doctor = json('doctor');
assert.equal(doctor.ok, true, JSON.stringify(doctor));
for (const name of ['Public URL', 'Database', 'Key file', 'Application', 'OAuth', 'Clock']) {
  const check = doctor.checks.find((one) => one.name === name);
  assert.equal(check?.state, 'ok', JSON.stringify(doctor));
}

// The end of one grant; the broker is another process, and may take a second to notice
const unknown = run('grants', 'revoke', 'no-such-grant', '--yes');
assert.equal(unknown.status, 1, unknown.said);
const unsure = run('grants', 'revoke', grant.id);
assert.equal(unsure.status, 2, unsure.said);
assert.ok(await opens());
const ended = run('grants', 'revoke', grant.id, '--yes');
assert.equal(ended.status, 0, ended.said);
const deadline = Date.now() + 3000;
while (await opens()) {
  assert.ok(Date.now() < deadline, 'the token still opens the door');
  await new Promise((done) => { setTimeout(done, 100); });
}
assert.ok(!json('grants', 'list').grants.some((one) => one.id === grant.id));

// A client that was thrown out must register again
assert.equal(run('clients', 'revoke', client, '--yes').status, 0);
const asked = await fetch(`${broker}/authorize?client_id=${client}&redirect_uri=http://127.0.0.1:9/callback&response_type=code`, { redirect: 'manual' });
assert.equal(asked.status, 400);
assert.equal(run('users', 'revoke', 'ann', '--yes').status, 0);

// All of it was written down
const { events } = json('audit', '--limit', '1000');
for (const name of ['registered', 'consented', 'issued', 'refreshed', 'revoked']) {
  assert.ok(events.some((one) => one.event === name), `no ${name} in ${JSON.stringify(events)}`);
}

// A new key; the one that was is kept
const [before] = json('keys', 'list').keys;
const rotated = run('keys', 'rotate');
assert.equal(rotated.status, 0, rotated.said);
const { keys } = json('keys', 'list');
assert.ok(keys.length === 2 && keys[1] === before && keys[0] !== before, JSON.stringify(keys));
