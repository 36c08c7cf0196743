// A client of the broker that is nothing but its requests, and the loopback server it waits at

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';

const PATIENCE = 30_000;

/// A loopback server that keeps what it was called with, as programs on a desktop have it
export async function listen(host = '127.0.0.1') {
  const calls = [];
  const waiting = [];
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<!doctype html><link rel=icon href="data:,"><title>Client</title><p>You can close this page.</p>');
    const url = new URL(request.url, 'http://client');
    if (url.pathname !== '/callback') return;
    calls.push(url.searchParams);
    for (const done of waiting.splice(0)) done();
  });
  // A name may stand for two addresses; the one that browsers try first is not known.
  await new Promise((done, failed) => { server.once('error', failed).listen(0, host === 'localhost' ? undefined : host, done); });
  const shown = host.includes(':') ? `[${host}]` : host;
  return {
    url: `http://${shown}:${server.address().port}/callback`,
    calls,
    called: async () => {
      const late = setTimeout(() => waiting.splice(0).forEach((done) => done()), PATIENCE);
      if (calls.length === 0) await new Promise((done) => { waiting.push(done); });
      clearTimeout(late);
      assert.ok(calls.length > 0, 'the client was not called');
      return calls[0];
    },
    close: () => { server.closeAllConnections(); server.close(); },
  };
}

export class Plain {
  constructor(broker, redirectUri) {
    this.broker = broker;
    this.redirectUri = redirectUri;
    this.verifier = randomBytes(48).toString('base64url');
    this.state = randomBytes(9).toString('base64url');
  }

  async register(name) {
    const answer = await fetch(`${this.broker}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_name: name, redirect_uris: [this.redirectUri], token_endpoint_auth_method: 'none' }),
    });
    const body = await answer.json();
    assert.equal(answer.status, 201, JSON.stringify(body));
    this.id = body.client_id;
    return this;
  }

  authorize() {
    const url = new URL('/authorize', this.broker);
    url.search = new URLSearchParams({
      response_type: 'code',
      client_id: this.id,
      redirect_uri: this.redirectUri,
      state: this.state,
      code_challenge: createHash('sha256').update(this.verifier).digest('base64url'),
      code_challenge_method: 'S256',
      resource: `${this.broker}/mcp`,
    });
    return url.href;
  }

  /// Exchange what the client was called with
  async exchange(answer) {
    assert.equal(answer.get('error'), null, `${answer}`);
    assert.equal(answer.get('state'), this.state);
    assert.equal(answer.get('iss'), this.broker);
    const form = {
      grant_type: 'authorization_code', code: answer.get('code'), client_id: this.id,
      redirect_uri: this.redirectUri, code_verifier: this.verifier,
    };
    const got = await fetch(`${this.broker}/token`, { method: 'POST', body: new URLSearchParams(form) });
    const tokens = await got.json();
    assert.equal(got.status, 200, JSON.stringify(tokens));
    return tokens;
  }

  /// Status of a call with this token
  async opens(token) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    return (await fetch(`${this.broker}/mcp`, { method: 'POST', headers, body })).status;
  }
}
