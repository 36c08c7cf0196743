// The conformance suite's scenarios for authorization servers: conformance.mjs SUITE BROKER REVISION
//
// The suite prints an address and waits for its own callback; the browser is the robot's.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { Plain } from './client.mjs';

const { ROBOT, PERSON } = process.env;
const [suite, broker, revision] = process.argv.slice(2);
const port = await new Promise((done) => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port: free } = server.address();
    server.close(() => done(free));
  });
});
const client = await new Plain(broker, `http://127.0.0.1:${port}/callback`).register('Conformance suite');
const run = spawn(process.execPath, [
  suite, 'authorization', '--url', broker, '--client-id', client.id, '--resource', `${broker}/mcp`,
  '--port', String(port), '--spec-version', revision,
], { stdio: ['ignore', 'pipe', 'inherit'] });
const lines = [];
createInterface({ input: run.stdout }).on('line', (line) => {
  console.log(line);
  lines.push(line);
  if (line.startsWith(`${broker}/authorize?`)) fetch(`${ROBOT}/visit?person=${PERSON}`, { method: 'POST', body: line });
});
const code = await new Promise((done) => { run.once('close', done); });
assert.equal(code, 0);
for (const scenario of ['authorization-server-metadata-endpoint', 'authorization-code-grant']) {
  assert.ok(lines.some((line) => new RegExp(`${scenario}: [1-9]\\d* passed, 0 failed`).test(line)), `${scenario} did not run`);
}
