// The story by the official TypeScript SDK 1.x

import assert from 'node:assert/strict';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { MCP, Provider, listen, refresh, revoke, signIn, use } from './story.mjs';

const { CIMD } = process.env;
const callback = await listen(CIMD ? 'localhost' : undefined);
const provider = new Provider(callback, 'TypeScript 1 story');
if (CIMD) provider.clientMetadataUrl = CIMD;
const open = () => new StreamableHTTPClientTransport(new URL(MCP), { authProvider: provider });
const client = new Client({ name: 'typescript-1', version: '1' });
const first = open();
await signIn({
  callback,
  connect: () => client.connect(first),
  finish: (answer) => first.finishAuth(answer.get('code')),
  unauthorized: UnauthorizedError,
});
if (CIMD) assert.equal(provider.client.client_id, CIMD, 'it did not register');
await client.connect(open());

const list = async () => (await client.listTools()).tools;
const call = (name, args) => client.callTool({ name, arguments: args });
const tokens = () => provider.kept;
await use({ list, call });
const asked = () => provider.asked;
await refresh({ tokens, call, asked });
await revoke({ tokens, clientId: () => provider.client.client_id, call, asked });
await client.close();
