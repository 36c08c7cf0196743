// What happens around an agent: repositories are made, CI reports, people review.
// By Gitea's REST API, which the sandbox serves for every dialect.

import { randomBytes } from 'node:crypto';

export class Forge {
  constructor(url, token) {
    this.url = url.replace(/\/$/, '');
    this.token = token;
  }

  async ask(method, path, body, auth = `token ${this.token}`) {
    const answer = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { authorization: auth, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : null;
  }

  /// A new repository of the agent's, with a README.md on main
  async repo(kind) {
    const { login: owner } = await this.ask('GET', '/user');
    const name = `${kind}-${randomBytes(4).toString('hex')}`;
    await this.ask('POST', '/user/repos', { name, auto_init: true, default_branch: 'main' });
    return new Repo(this, owner, name);
  }

  /// A second user, who can approve
  async colleague(repo) {
    const login = `colleague-${randomBytes(4).toString('hex')}`;
    const password = `Pass-${randomBytes(8).toString('hex')}`;
    await this.ask('POST', '/admin/users', {
      username: login, password, email: `${login}@example.org`, must_change_password: false,
    });
    await repo.ask('PUT', `/collaborators/${login}`, { permission: 'write' });
    return `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`;
  }
}

class Repo {
  constructor(forge, owner, name) {
    Object.assign(this, { forge, owner, name });
  }

  ask(method, path, body, auth) {
    return this.forge.ask(method, `/repos/${this.owner}/${this.name}${path}`, body, auth);
  }

  /// main takes changes by reviewed pull requests only, and only when `ci` is green
  protect() {
    return this.ask('POST', '/branch_protections', {
      rule_name: 'main', branch_name: 'main', required_approvals: 1,
      enable_status_check: true, status_check_contexts: ['ci'],
    });
  }

  ci(sha, state) {
    return this.ask('POST', `/statuses/${sha}`, { state, context: 'ci', description: `ci: ${state}` });
  }

  approve(index, auth) {
    return this.ask('POST', `/pulls/${index}/reviews`, { event: 'APPROVED', body: 'fine' }, auth);
  }
}
