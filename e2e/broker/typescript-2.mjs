// The story by the official TypeScript client 2.x, in the newest revision

import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { MCP, Provider, listen, refresh, revoke, signIn, stream, use } from './story.mjs';

const callback = await listen('::1');
const provider = new Provider(callback, 'TypeScript 2 story');
const open = () => new StreamableHTTPClientTransport(new URL(MCP), { authProvider: provider });
const fresh = () => new Client({ name: 'typescript-2', version: '1' }, { versionNegotiation: { mode: 'auto' } });
const first = open();
await signIn({
  callback,
  connect: () => fresh().connect(first),
  finish: (answer) => first.finishAuth(answer),
  unauthorized: UnauthorizedError,
});
const client = fresh();
await client.connect(open());
assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');

const list = async () => (await client.listTools()).tools;
const call = (name, args, options) => client.callTool({ name, arguments: args }, options);
const tokens = () => provider.kept;
await use({ list, call });
await stream({ call });
const asked = () => provider.asked;
await refresh({ tokens, call, asked });
await revoke({ tokens, clientId: () => provider.client.client_id, call, asked });
await client.close();
