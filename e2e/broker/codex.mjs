// The story by Codex, which opens the browser by itself: codex.mjs CODEX HOME
//
// No model is needed: a client of its app server can call tools directly.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { TOOLS } from './loop.mjs';
import { MCP, refresh, revoke, use } from './story.mjs';

const [codex, home] = process.argv.slice(2);
// What it wants from the internet is refused here and now.
const nowhere = 'http://127.0.0.1:9';
const env = { ...process.env, HOME: home, CODEX_HOME: home, HTTPS_PROXY: nowhere, HTTP_PROXY: nowhere, NO_PROXY: '127.0.0.1,localhost' };
mkdirSync(home, { recursive: true });
writeFileSync(join(home, 'config.toml'), `
check_for_update_on_startup = false
mcp_oauth_credentials_store = "file"
[analytics]
enabled = false
`);

function run(...args) {
  const ran = spawnSync(codex, args, { env, cwd: home, encoding: 'utf8', timeout: 90_000 });
  assert.equal(ran.status, 0, `${args}: ${ran.stdout}${ran.stderr}`);
  return ran.stdout;
}

/// Its app server, with an empty conversation
async function open() {
  const server = spawn(codex, ['app-server'], { env, cwd: home, stdio: ['pipe', 'pipe', 'ignore'] });
  const waiting = new Map();
  createInterface({ input: server.stdout }).on('line', (line) => {
    const { id, result, error } = JSON.parse(line);
    const { done, failed } = waiting.get(id) ?? {};
    if (error) failed?.(new Error(error.message));
    else done?.(result);
  });
  const send = (message) => server.stdin.write(`${JSON.stringify(message)}\n`);
  const ask = (method, params = {}) => new Promise((done, failed) => {
    const id = waiting.size + 1;
    waiting.set(id, { done, failed });
    send({ id, method, params });
  });
  await ask('initialize', { clientInfo: { name: 'codex-story', version: '1' } });
  send({ method: 'initialized' });
  const { thread } = await ask('thread/start');
  return { ask, thread: thread.id, close: () => server.kill() };
}

const kept = () => Object.values(JSON.parse(readFileSync(join(home, '.credentials.json'), 'utf8')))[0];
const status = () => JSON.parse(run('mcp', 'list', '--json')).find((one) => one.name === 'blue').auth_status;

// It sees that a sign-in is needed, and begins with it.
run('mcp', 'add', 'blue', '--url', MCP);
assert.equal(status(), 'o_auth');
assert.equal(kept().client_id, 'https://chatgpt.com/oauth/codex/client.json', 'it did not register');

let server = await open();
const list = async () => {
  const { data } = await server.ask('mcpServerStatus/list');
  const { tools } = data.find((one) => one.name === 'blue');
  // It keeps them by name.
  return Object.values(tools).sort((a, b) => TOOLS.indexOf(a.name) - TOOLS.indexOf(b.name));
};
const call = (tool, args) => server.ask('mcpServer/tool/call', { threadId: server.thread, server: 'blue', tool, arguments: args });
await use({ list, call });
await refresh({ tokens: kept, call, asked: () => 1 });
await revoke({ tokens: kept, clientId: () => kept().client_id });
server.close();

// Signed out, it has nothing to work with, and the next sign-in is as good as the first.
server = await open();
assert.deepEqual(await list(), []);
server.close();
run('mcp', 'login', 'blue');
server = await open();
await use({ list, call });
server.close();
