// mcp-remote makes a stdio server of an HTTP one: remote.mjs PROXY MCP

import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { TOOLS } from './loop.mjs';

const [proxy, mcp] = process.argv.slice(2);
const args = [proxy, mcp, '--transport', 'http-only'];
const transport = new StdioClientTransport({ command: process.execPath, args, env: process.env });
const client = new Client({ name: 'behind-mcp-remote', version: '1' });
await client.connect(transport);
assert.deepEqual((await client.listTools()).tools.map((tool) => tool.name), TOOLS);
await client.close();
