// The whole story of one person and one client of the TypeScript SDKs
//
//   MCP     where the broker's MCP server is
//   ROBOT   where a browser is asked for
//   PERSON  whose
//   OWN     a private repository of theirs
//   FOREIGN a private repository of another user
//   LASTING set where tokens do not end while one waits
//   CIMD    set where the client is known by the address of its description
//   FORGE   set where something in between could hold answers back; PASSWORD is the person's there

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { TOOLS } from './loop.mjs';

export const { MCP, ROBOT, PERSON, OWN, FOREIGN } = process.env;
const PATIENCE = 90_000;

/// What the SDKs want to know and to keep; the browser is the robot's
export class Provider {
  constructor(callback, name, person = PERSON) {
    this.redirectUrl = callback.url;
    this.callback = callback;
    this.person = person;
    this.clientMetadata = {
      client_name: name,
      redirect_uris: [callback.url],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
    this.asked = 0;
  }

  state() { return this.callback.state; }
  clientInformation() { return this.client; }
  saveClientInformation(client) { this.client = client; }
  tokens() { return this.kept; }
  saveTokens(tokens) { this.kept = tokens; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  codeVerifier() { return this.verifier; }
  saveDiscoveryState(state) { this.discovered = state; }
  discoveryState() { return this.discovered; }
  invalidateCredentials(what) {
    if (what === 'all' || what === 'client') this.client = undefined;
    if (what === 'all' || what === 'tokens') this.kept = undefined;
  }

  async redirectToAuthorization(url) {
    this.asked += 1;
    if (this.asked === 1) await fetch(`${ROBOT}/visit?person=${this.person}`, { method: 'POST', body: url.href });
  }
}

/// A loopback server that waits for the answer, as programs on a desktop have it
export async function listen(host = '127.0.0.1') {
  const state = crypto.randomUUID();
  let resolve;
  const answer = new Promise((done) => { resolve = done; });
  const server = createServer((request, response) => {
    const url = new URL(request.url, 'http://client');
    response.writeHead(200, { 'content-type': 'text/html' }).end('<p>You can close this page.</p>');
    if (url.pathname === '/callback') resolve(url.searchParams);
  });
  // A name may stand for two addresses; the one that browsers try first is not known.
  await new Promise((done) => { server.listen(0, host === 'localhost' ? undefined : host, done); });
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${server.address().port}/callback`;
  const close = () => { server.closeAllConnections(); server.close(); };
  return { url, state, answer, close };
}

async function within(promise, what) {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`${what} took too long`)), PATIENCE); });
  try { return await Promise.race([promise, late]); } finally { clearTimeout(timer); }
}

function repo(name) {
  const [owner, repository] = name.split('/');
  return { owner, name: repository };
}

/// The first connection, which is refused until the person has signed in
export async function signIn({ callback, connect, finish, unauthorized }) {
  await assert.rejects(connect(), unauthorized);
  const answer = await within(callback.answer, 'the browser');
  callback.close();
  assert.equal(answer.get('error'), null, `${answer}`);
  assert.equal(answer.get('state'), callback.state);
  assert.equal(answer.get('iss'), new URL(MCP).origin);
  await finish(answer);
}

/// What the person's client can do, and what it cannot
export async function use({ list, call }) {
  assert.deepEqual((await list()).map((tool) => tool.name), TOOLS);
  const status = await call('repo_status', repo(OWN));
  assert.ok(!status.isError, JSON.stringify(status));
  assert.equal(status.structuredContent.default_branch, `home-of-${PERSON}`);
  const other = await call('repo_status', repo(FOREIGN));
  assert.ok(other.isError, `${PERSON} sees ${FOREIGN}: ${JSON.stringify(other)}`);
  assert.equal(JSON.parse(other.content[0].text).error.code, 'not_found');
}

/// What a call says while it runs arrives while it runs: it ends because of what was heard
export async function stream({ call }) {
  const { FORGE, PASSWORD } = process.env;
  if (!FORGE) return;
  // Several stories use one branch at once: each waits for a check of its own, which only this story ends.
  const context = `ci-of-${new URL(MCP).host}`;
  const ci = async (state) => {
    const sent = await fetch(`${FORGE}/api/v1/repos/${OWN}/statuses/home-of-${PERSON}`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${PERSON}:${PASSWORD}`).toString('base64')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ state, context }),
    });
    assert.equal(sent.status, 201, await sent.text());
  };
  await ci('pending');
  let green;
  const args = { ...repo(OWN), branch: `home-of-${PERSON}`, wait_seconds: 60 };
  const done = await call('workflow_run_status', args, { onprogress: () => { green ??= ci('success'); } });
  await green;
  assert.ok(green, `nothing was heard before the end: ${JSON.stringify(done)}`);
  assert.equal(done.structuredContent.state, 'success', JSON.stringify(done));
}

/// The token runs out while the client works, and it goes on without its person
export async function refresh({ tokens, call, asked }) {
  if (process.env.LASTING) return;
  const before = await tokens();
  const deadline = Date.now() + PATIENCE;
  while ((await tokens()).access_token === before.access_token) {
    assert.ok(Date.now() < deadline, 'the token was never refreshed');
    const status = await call('repo_status', repo(OWN));
    assert.ok(!status.isError, JSON.stringify(status));
    await new Promise((done) => { setTimeout(done, 500); });
  }
  assert.notEqual((await tokens()).refresh_token, before.refresh_token, 'a refresh token is used once');
  assert.equal(await asked(), 1, 'the person was not asked again');
}

/// The client signs out: its tokens open nothing any more, and it has to ask its person again
export async function revoke({ tokens, clientId, call, asked }) {
  const metadata = await (await fetch(new URL('/.well-known/oauth-authorization-server', MCP))).json();
  const kept = await tokens();
  const sent = await fetch(metadata.revocation_endpoint, {
    method: 'POST',
    body: new URLSearchParams({ token: kept.refresh_token, token_type_hint: 'refresh_token', client_id: await clientId() }),
  });
  assert.equal(sent.status, 200, await sent.text());
  const refused = await fetch(MCP, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${kept.access_token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
  assert.equal(refused.status, 401);
  assert.match(refused.headers.get('www-authenticate'), /error="invalid_token"/);
  if (!call) return;
  await assert.rejects(call('repo_status', repo(OWN)));
  assert.equal(await asked(), 2, 'the client wants its person to sign in again');
}
