// Two people at the same moment, with the same client: neither ever sees what is the other's

import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { MCP, Provider, listen } from './story.mjs';

const PEOPLE = ['ann', 'ben'];
const CALLS = 60;

async function signedIn(person) {
  const callback = await listen();
  const provider = new Provider(callback, 'Shared program', person);
  const open = () => new StreamableHTTPClientTransport(new URL(MCP), { authProvider: provider });
  const fresh = () => new Client({ name: 'shared', version: '1' });
  const first = open();
  await assert.rejects(fresh().connect(first));
  await first.finishAuth(await callback.answer);
  callback.close();
  const client = fresh();
  await client.connect(open());
  return { person, client, provider };
}

const both = await Promise.all(PEOPLE.map(signedIn));
assert.equal(both[0].provider.client.client_id, both[1].provider.client.client_id, 'the same program is one client');
const status = ({ client }, owner) => client.callTool({ name: 'repo_status', arguments: { owner, name: `of-${owner}` } });
await Promise.all(Array.from({ length: CALLS }, async (_, turn) => {
  const [me, other] = turn % 2 ? both : [...both].reverse();
  const own = await status(me, me.person);
  assert.equal(own.structuredContent?.default_branch, `home-of-${me.person}`, JSON.stringify(own));
  const foreign = await status(me, other.person);
  assert.ok(foreign.isError, `${me.person} sees what is ${other.person}'s`);
  assert.equal(JSON.parse(foreign.content[0].text).error.code, 'not_found');
}));
// One signs out, and the other does not notice.
const [ann, ben] = both;
const sent = await fetch(new URL('/revoke', MCP), {
  method: 'POST',
  body: new URLSearchParams({ token: ann.provider.kept.refresh_token, client_id: ann.provider.client.client_id }),
});
assert.equal(sent.status, 200);
await assert.rejects(status(ann, 'ann'));
assert.ok(!(await status(ben, 'ben')).isError);
for (const { client } of both) await client.close();
