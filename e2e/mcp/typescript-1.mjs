// The loop by the official TypeScript SDK 1.x on stdio: typescript-1.mjs BLUE URL TOKEN

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { loop } from './loop.mjs';

const [blue, url, token] = process.argv.slice(2);
const transport = new StdioClientTransport({ command: blue, args: ['mcp'], env: process.env });
const client = new Client({ name: 'typescript-1', version: '1' });
await client.connect(transport);
const told = await loop({
  list: async () => (await client.listTools()).tools,
  call: (name, args, onprogress) =>
    client.callTool({ name, arguments: args }, undefined, onprogress && { onprogress, resetTimeoutOnProgress: true }),
}, url, token);
await client.close();
console.log(`typescript 1: done, ${told} reports of progress`);
