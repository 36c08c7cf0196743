// The loop by the official TypeScript client 2.x over HTTP, in the newest revision: typescript-2.mjs MCP URL TOKEN BEARER

import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { loop } from './loop.mjs';

const [mcp, url, token, bearer] = process.argv.slice(2);
const client = new Client({ name: 'typescript-2', version: '1' }, { versionNegotiation: { mode: 'auto' } });
const requestInit = { headers: { Authorization: `Bearer ${bearer}` } };
await client.connect(new StreamableHTTPClientTransport(new URL(mcp), { requestInit }));
assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
const told = await loop({
  list: async () => (await client.listTools()).tools,
  call: (name, args, onprogress) => client.callTool({ name, arguments: args }, onprogress && { onprogress }),
}, url, token);
await client.close();
console.log(`typescript 2: done, ${told} reports of progress`);
