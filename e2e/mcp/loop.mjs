// The loop of a development agent: what it calls, and what it must be told
//
// `call(tool, args, onProgress)` gives a CallToolResult, however the client gets it.

import assert from 'node:assert/strict';
import { Forge } from './forge.mjs';

export const TOOLS = [
  'repo_status', 'branch_list', 'branch_delete', 'branch_protection_get', 'pr_list', 'pr_create', 'pr_verify',
  'pr_merge', 'dir_list', 'file_read', 'file_write_branch', 'file_delete', 'tag_create', 'workflow_run_status',
];

class Agent {
  constructor(call, repo) {
    this.call = call;
    this.at = { owner: repo.owner, name: repo.name };
  }

  async does(tool, args, onProgress) {
    const result = await this.call(tool, { ...this.at, ...args }, onProgress);
    const text = result.content[0].text;
    assert.ok(!result.isError, `${tool}: ${text}`);
    assert.deepEqual(JSON.parse(text), result.structuredContent, `${tool}: text and object are the same`);
    return result.structuredContent;
  }

  async fails(tool, args, codes) {
    const result = await this.call(tool, { ...this.at, ...args });
    const text = result.content[0].text;
    assert.ok(result.isError, `${tool} should have failed: ${text}`);
    const { error } = JSON.parse(text);
    assert.ok(codes.includes(error.code), `${tool}: ${codes} expected: ${text}`);
    return error;
  }
}

/// Protected main: branch, pull request, CI, review, merge, clean up, tag
async function featureBranch(call, forge) {
  const repo = await forge.repo('feature');
  const colleague = await forge.colleague(repo);
  await repo.protect();
  const agent = new Agent(call, repo);

  const status = await agent.does('repo_status', {});
  assert.equal(status.workflow, 'feature-branch', status.reason);
  assert.equal(status.default_branch, 'main');
  const rules = await agent.does('branch_protection_get', { branch: 'main' });
  assert.deepEqual([rules.protected, rules.required_approvals], [true, 1]);

  const readme = await agent.does('file_read', { path: 'README.md' });
  assert.ok(readme.content.includes(repo.name));
  const written = await agent.does('file_write_branch', {
    branch: 'topic', message: 'Say hello', files: [
      { path: 'src/hello.txt', content: 'hello\n' },
      { path: 'README.md', content: `${readme.content}\nSays hello.\n` },
    ],
  });
  assert.equal(written.branch_created, true);
  const listed = await agent.does('dir_list', { path: 'src', ref: 'topic' });
  assert.deepEqual(listed.entries.map((entry) => entry.name), ['hello.txt']);

  const asked = { title: 'Say hello', head: 'topic', body: '- [x] it says hello\n' };
  const { pr_number: index } = await agent.does('pr_create', asked);
  const again = await agent.does('pr_create', asked);
  assert.deepEqual([again.pr_number, again.existing], [index, true]);
  const open = await agent.does('pr_list', { state: 'open' });
  assert.deepEqual(open.prs.map((pr) => pr.number), [index]);

  // A red check stops it.
  await repo.ci(written.commit_sha, 'failure');
  assert.equal((await agent.does('workflow_run_status', { index })).state, 'failure');
  await repo.approve(index, colleague);
  const red = await agent.does('pr_verify', { index, wait_seconds: 20 });
  assert.equal(red.can_merge, 'no');
  assert.ok(red.checks.failed >= 1 && red.blockers.length > 0, JSON.stringify(red));
  await agent.fails('pr_merge', { index, style: 'squash' }, ['not_mergeable']);

  // The fix moves the head: what was verified before is not merged.
  const fixed = await agent.does('file_write_branch', {
    branch: 'topic', path: 'src/hello.txt', message: 'Say it better', content: 'hello, world\n',
    expected_head: written.commit_sha,
  });
  await repo.ci(fixed.commit_sha, 'pending');
  let told = 0;
  let green;
  // CI is done while the agent waits, which it knows from the first report.
  const waited = await agent.does('workflow_run_status', { index, wait_seconds: 60 }, () => {
    told += 1;
    green ??= repo.ci(fixed.commit_sha, 'success');
  });
  assert.ok(green, 'no report of progress');
  await green;
  assert.equal(waited.state, 'success');
  await repo.approve(index, colleague);
  const moved = await agent.fails('pr_merge', { index, style: 'squash', head_sha: written.commit_sha }, ['conflict']);
  assert.ok(moved.message.length > 0);

  const ready = await agent.does('pr_verify', { index, wait_seconds: 30 });
  assert.equal(ready.head_sha, fixed.commit_sha);
  assert.deepEqual(ready.test_plan.open ?? [], []);
  assert.equal(ready.can_merge, 'yes', JSON.stringify(ready));
  const merged = await agent.does('pr_merge', { index, style: 'squash', head_sha: ready.head_sha });
  assert.equal(merged.merged, true);
  const twice = await agent.does('pr_merge', { index, style: 'squash' });
  assert.equal(twice.already, true);
  await agent.does('branch_delete', { branch: 'topic' });
  const left = await agent.does('branch_list', {});
  assert.deepEqual(left.branches.map((branch) => branch.name), ['main']);
  const release = { tag: 'v1.0.0', target: 'main', message: 'First' };
  const tag = await agent.does('tag_create', release);
  if (merged.commit_sha) assert.equal(tag.commit_sha, merged.commit_sha);
  assert.equal((await agent.does('tag_create', release)).existing, true);
  return told;
}

/// Unprotected main: commit, tag; and a pull request that met a conflict
async function trunk(call, forge) {
  const repo = await forge.repo('trunk');
  const agent = new Agent(call, repo);
  const status = await agent.does('repo_status', {});
  assert.equal(status.workflow, 'trunk', status.reason);

  const first = await agent.does('file_write_branch', { branch: 'main', path: 'notes.txt', content: 'one\n' });
  const same = await agent.does('file_write_branch', { branch: 'main', path: 'notes.txt', content: 'one\n' });
  assert.equal(same.unchanged, true);
  assert.equal((await agent.does('workflow_run_status', { branch: 'main' })).state, 'none');
  await repo.ci(first.commit_sha, 'success');
  assert.equal((await agent.does('workflow_run_status', { sha: first.commit_sha })).state, 'success');

  await agent.does('file_write_branch', { branch: 'left', path: 'notes.txt', content: 'left\n' });
  const { pr_number: index } = await agent.does('pr_create', { title: 'Left', head: 'left' });
  const right = await agent.does('file_write_branch', { branch: 'main', path: 'notes.txt', content: 'right\n' });
  const verdict = await agent.does('pr_verify', { index, wait_seconds: 30 });
  assert.deepEqual([verdict.can_merge, verdict.conflicts], ['no', true], JSON.stringify(verdict));
  await agent.fails('pr_merge', { index, style: 'merge' }, ['not_mergeable', 'conflict']);
  // The branch has moved since `expected_head`.
  await agent.fails('file_write_branch',
    { branch: 'main', path: 'notes.txt', content: 'late\n', expected_head: first.commit_sha }, ['conflict']);
  await agent.fails('branch_delete', { branch: 'left' }, ['conflict', 'forbidden', 'invalid', 'not_mergeable']);

  const { sha } = (await agent.does('file_read', { path: 'notes.txt' }));
  await agent.does('file_delete', { path: 'notes.txt', branch: 'main', sha, message: 'Forget' });
  await agent.fails('tag_create', { tag: 'v1', target: 'no-such-branch' }, ['not_found', 'invalid']);
  await agent.does('tag_create', { tag: 'v1', target: right.commit_sha });
  await agent.fails('tag_create', { tag: 'v1', target: 'main' }, ['conflict']);
}

/// Everything, by one client on one forge
export async function loop({ list, call }, url, token) {
  const forge = new Forge(url, token);
  const tools = await list();
  assert.deepEqual(tools.map((tool) => tool.name), TOOLS);
  const told = await featureBranch(call, forge);
  await trunk(call, forge);
  return told;
}
