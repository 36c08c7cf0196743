// Codex lists the tools and calls one, by its own interface for editors: codex.mjs CODEX SERVER…
//
// The servers are in its configuration already.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { TOOLS } from './loop.mjs';

const [codex, ...servers] = process.argv.slice(2);
// No model is asked, so none is to be looked for.
const settings = ['model_provider="none"', 'model_providers.none={name="none",base_url="http://127.0.0.1:9"}',
  'analytics.enabled=false', 'check_for_update_on_startup=false'].flatMap((setting) => ['-c', setting]);
const child = spawn(codex, ['app-server', ...settings], { stdio: ['pipe', 'pipe', 'inherit'] });
const waiting = new Map();
createInterface({ input: child.stdout }).on('line', (line) => {
  const message = JSON.parse(line);
  waiting.get(message.id)?.(message);
});
let last = 0;
const send = (message) => child.stdin.write(`${JSON.stringify(message)}\n`);
async function ask(method, params) {
  const id = (last += 1);
  const answer = new Promise((resolve) => waiting.set(id, resolve));
  send({ id, method, params });
  const { result, error } = await answer;
  assert.ok(result, `${method}: ${JSON.stringify(error)}`);
  return result;
}

await ask('initialize', { clientInfo: { name: 'e2e', title: null, version: '1' } });
send({ method: 'initialized' });
const { data } = await ask('mcpServerStatus/list', {});
const { thread } = await ask('thread/start', {});
for (const server of servers) {
  const found = data.find(({ name }) => name === server);
  assert.deepEqual(Object.keys(found?.tools ?? {}).sort(), [...TOOLS].sort(), server);
  const result = await ask('mcpServer/tool/call', {
    threadId: thread.id, server, tool: 'repo_status', arguments: { owner: 'acme', name: 'storefront' },
  });
  assert.equal(result.structuredContent?.default_branch, 'main', JSON.stringify(result));
}
child.stdin.end();
child.kill();
