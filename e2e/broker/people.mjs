// Two people of a forge, each with a private repository: people.mjs URL TOKEN PEOPLE
//
// Its default branch says whose it is.

import assert from 'node:assert/strict';

const [url, token, people] = process.argv.slice(2);

async function post(path, body) {
  const answer = await fetch(`${url.replace(/\/$/, '')}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `token ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  assert.equal(answer.status, 201, `${path}: ${await answer.text()}`);
}

for (const [login, password] of Object.entries(JSON.parse(people))) {
  await post('/admin/users', { username: login, password, email: `${login}@example.org`, must_change_password: false });
  await post(`/admin/users/${login}/repos`, { name: `of-${login}`, private: true, auto_init: true, default_branch: `home-of-${login}` });
}
