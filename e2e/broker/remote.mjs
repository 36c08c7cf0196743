// The story by mcp-remote, which makes a stdio server of it and opens the browser by itself
//
// What it keeps is in files; so are a client of its own and its tokens found.

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { MCP, refresh, revoke, use } from './story.mjs';

const [proxy, folder] = process.argv.slice(2);
const args = [proxy, MCP, '--transport', 'http-only'];
const env = { ...process.env, MCP_REMOTE_CONFIG_DIR: folder };
const transport = new StdioClientTransport({ command: process.execPath, args, env, stderr: 'inherit' });
const client = new Client({ name: 'behind-mcp-remote', version: '1' });
await client.connect(transport, { timeout: 90_000 });

function kept(name) {
  const found = readdirSync(folder, { recursive: true }).find((file) => file.endsWith(name));
  return JSON.parse(readFileSync(join(folder, found), 'utf8'));
}
const list = async () => (await client.listTools()).tools;
const call = (name, args) => client.callTool({ name, arguments: args });
const tokens = () => kept('tokens.json');
await use({ list, call });
await refresh({ tokens, call, asked: () => 1 });
await revoke({ tokens, clientId: () => kept('client_info.json').client_id });
await client.close();
