// A long call by the official SDKs: it tells how far it is, and being called off it leaves the forge alone.
//
// waits.mjs BLUE URL TOKEN. Between Blue and the forge stands a proxy that can hold a request for ever: what
// happens to that one is what happens to the requests of a call.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { createInterface } from 'node:readline';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { Forge } from './forge.mjs';

const [blue, url, token] = process.argv.slice(2);

/// Passes requests on, or holds the next one: `held()` gives a promise of its end by the other side
class Proxy {
  constructor(target) {
    this.server = http.createServer((request, response) => {
      if (this.holding) {
        this.holding(new Promise((gone) => response.once('close', gone)));
        this.holding = null;
        return;
      }
      const on = http.request(new URL(request.url, target), { method: request.method, headers: request.headers });
      on.on('response', (answer) => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
      });
      on.on('error', () => response.destroy());
      request.pipe(on);
    });
  }

  async start() {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `http://127.0.0.1:${this.server.address().port}`;
  }

  held() {
    return new Promise((holding) => { this.holding = (gone) => holding({ gone }); });
  }
}

const proxy = new Proxy(url);
const env = { ...process.env, FORGEJO_URL: await proxy.start(), FORGEJO_TOKEN: token };
const served = spawn(blue, ['mcp', '--http', '127.0.0.1:0', '--json'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
const [ready] = await once(createInterface({ input: served.stdout }), 'line');
const mcp = new URL(JSON.parse(ready).url);
const requestInit = { headers: { Authorization: `Bearer ${JSON.parse(ready).token}` } };

const repo = await new Forge(url, token).repo('waits');
const [{ commit: { id: sha } }] = await repo.ask('GET', '/branches');
await repo.ci(sha, 'pending');

const one = { name: 'typescript-1', version: '1' };
const two = (mode) => new Client2({ name: 'typescript-2', version: '1' }, { versionNegotiation: { mode } });
for (const [name, client, transport, call] of [
  ['1.x on stdio', new Client1(one), new Stdio1({ command: blue, args: ['mcp'], env }), (c, p, o) => c.callTool(p, undefined, o)],
  ['1.x by HTTP', new Client1(one), new Http1(mcp, { requestInit }), (c, p, o) => c.callTool(p, undefined, o)],
  ['2.x by HTTP, older revision', two('legacy'), new Http2(mcp, { requestInit }), (c, p, o) => c.callTool(p, o)],
  ['2.x by HTTP, newest revision', two('auto'), new Http2(mcp, { requestInit }), (c, p, o) => c.callTool(p, o)],
]) {
  await client.connect(transport);
  const end = new AbortController();
  const reports = [];
  let enough;
  const told = new Promise((resolve) => { enough = resolve; });
  const onprogress = (report) => {
    reports.push(report);
    if (reports.length === 2) enough();
  };
  const params = {
    name: 'workflow_run_status',
    arguments: { owner: repo.owner, name: repo.name, sha, wait_seconds: 120 },
  };
  const waiting = call(client, params, { onprogress, signal: end.signal, timeout: 130_000 });
  await Promise.race([told, waiting]);
  assert.ok(reports.length >= 2, `${name}: ended without reports of progress`);
  assert.ok(reports[1].progress > reports[0].progress && reports[0].total === 120, JSON.stringify(reports));
  assert.equal(reports[0].message, '0 of 1 checks have ended', name);
  const { gone } = await proxy.held();
  end.abort('enough');
  await assert.rejects(waiting, name);
  await gone;
  // And it is still there for the next.
  assert.equal((await client.listTools()).tools.length, 14, name);
  await client.close();
  console.log(`${name}: told ${reports.length} times, then called off`);
}
served.kill();
process.exit(0);
