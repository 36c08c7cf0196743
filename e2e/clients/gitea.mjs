// A tour of the Gitea API by gitea-js: node gitea.mjs URL TOKEN ADMIN_LOGIN OUT

import { giteaApi } from 'gitea-js';
import { Recorder } from './record.mjs';

const [url, token, admin, out] = process.argv.slice(2);
const rec = new Recorder();
const api = giteaApi(url, { token, customFetch: rec.fetch });
const b64 = (text) => Buffer.from(text).toString('base64');
const suffix = 'tour';
const repo = `${suffix}-repo`;
const step = rec.step.bind(rec);
const expect = (what, ok) => {
  if (!ok) throw new Error(`expected: ${what}`);
};
/// Poll the server until a condition holds; those looks are not part of the recording.
const settle = async (what, look) => {
  const kept = rec.steps;
  rec.steps = [];
  const end = Date.now() + 20_000;
  try {
    while (Date.now() < end) {
      if (await look()) return;
      await new Promise((r) => setTimeout(r, 150));
    }
  } finally {
    rec.steps = kept;
  }
  throw new Error(`never came true: ${what}`);
};

await step('version', () => api.version.getVersion());
await step('settings', () => api.settings.getGeneralApiSettings());
await step('whoami', () => api.user.userGetCurrent());
const bobPassword = 'Tour-pass-1!';
await step('create user', () =>
  api.admin.adminCreateUser({ username: 'tourbob', email: 'tourbob@example.org', password: bobPassword, must_change_password: false }));
const basic = giteaApi(url, {
  customFetch: (u, init) =>
    rec.fetch(u, { ...init, headers: { ...init?.headers, Authorization: `Basic ${b64(`tourbob:${bobPassword}`)}` } }),
});
const bobToken = await step('create token', () =>
  basic.users.userCreateToken('tourbob', { name: 'tour', scopes: ['write:repository', 'read:user'] }));
expect('a token for the second user', bobToken?.sha1);
const bob = giteaApi(url, { token: bobToken.sha1, customFetch: rec.fetch });

// Repository
await step('create repo', () => api.user.createCurrentUserRepo({ name: repo, auto_init: true, default_branch: 'main', description: 'a tour' }));
await step('create repo again', () => api.user.createCurrentUserRepo({ name: repo }));
await step('get repo', () => api.repos.repoGet(admin, repo));
await step('get missing repo', () => api.repos.repoGet(admin, 'no-such-repo'));
await step('edit repo', () => api.repos.repoEdit(admin, repo, { description: 'a longer tour' }));
await step('list own repos', () => api.user.userCurrentListRepos({ limit: 50 }));
await step('add collaborator', () => api.repos.repoAddCollaborator(admin, repo, 'tourbob', { permission: 'write' }));
await step('list collaborators', () => api.repos.repoListCollaborators(admin, repo));
await step('check collaborator', () => api.repos.repoCheckCollaborator(admin, repo, 'tourbob'));
await step('collaborator permission', () => api.repos.repoGetRepoPermissions(admin, repo, 'tourbob'));

// Branches
await step('list branches', () => api.repos.repoListBranches(admin, repo));
await step('create branch', () => api.repos.repoCreateBranch(admin, repo, { new_branch_name: 'feature/one', old_ref_name: 'main' }));
await step('create branch again', () => api.repos.repoCreateBranch(admin, repo, { new_branch_name: 'feature/one', old_ref_name: 'main' }));
await step('create bad branch', () => api.repos.repoCreateBranch(admin, repo, { new_branch_name: 'a..b', old_ref_name: 'main' }));
await step('get branch', () => api.repos.repoGetBranch(admin, repo, 'feature/one'));
await step('get missing branch', () => api.repos.repoGetBranch(admin, repo, 'nope'));
await step('delete default branch', () => api.repos.repoDeleteBranch(admin, repo, 'main'));

// Contents
const made = await step('create file', () =>
  api.repos.repoCreateFile(admin, repo, 'docs/hello world.md', { content: b64('hello\n'), message: 'add hello', branch: 'feature/one' }));
expect('a created file', made?.content?.sha);
await step('create file again', () =>
  api.repos.repoCreateFile(admin, repo, 'docs/hello world.md', { content: b64('x'), message: 'again', branch: 'feature/one' }));
await step('read file', () => api.repos.repoGetContents(admin, repo, 'docs/hello world.md', { ref: 'feature/one' }));
await step('read missing file', () => api.repos.repoGetContents(admin, repo, 'nope.md', { ref: 'feature/one' }));
await step('read at missing ref', () => api.repos.repoGetContents(admin, repo, 'README.md', { ref: 'nope' }));
await step('update file', () =>
  api.repos.repoUpdateFile(admin, repo, 'docs/hello world.md', { content: b64('hello again\n'), message: 'change hello', branch: 'feature/one', sha: made.content.sha }));
await step('update with stale sha', () =>
  api.repos.repoUpdateFile(admin, repo, 'docs/hello world.md', { content: b64('lost\n'), message: 'lost', branch: 'feature/one', sha: made.content.sha }));
await step('change files', () =>
  api.repos.repoChangeFiles(admin, repo, {
    branch: 'feature/one', message: 'two at once',
    files: [
      { operation: 'create', path: 'src/a.txt', content: b64('a\n') },
      { operation: 'create', path: 'src/b.txt', content: b64('b\n') },
    ],
  }));
const dir = await step('list directory', () => api.repos.repoGetContents(admin, repo, 'src', { ref: 'feature/one' }));
expect('two entries', dir?.length === 2);
await step('list root', () => api.repos.repoGetContentsList(admin, repo, { ref: 'feature/one' }));
await step('delete file', () =>
  api.repos.repoDeleteFile(admin, repo, 'src/b.txt', { sha: dir.find((e) => e.name === 'b.txt').sha, message: 'drop b', branch: 'feature/one' }));
await step('delete with stale sha', () =>
  api.repos.repoDeleteFile(admin, repo, 'src/a.txt', { sha: made.content.sha, message: 'wrong', branch: 'feature/one' }));

// Commits, trees
const commits = await step('list commits', () => api.repos.repoGetAllCommits(admin, repo, { sha: 'feature/one' }));
expect('several commits', commits?.length >= 5);
await step('one commit', () => api.repos.repoGetSingleCommit(admin, repo, commits[0].sha));
await step('missing commit', () => api.repos.repoGetSingleCommit(admin, repo, 'f'.repeat(40)));
await step('compare', () => api.repos.repoCompareDiff(admin, repo, 'main...feature/one'));
await step('tree', () => api.repos.getTree(admin, repo, commits[0].sha, { recursive: true }));
await step('blob', () => api.repos.getBlob(admin, repo, made.content.sha));
await step('refs', () => api.repos.repoListGitRefs(admin, repo, 'heads'));

// Pull request
const pr = await step('create pr', () =>
  api.repos.repoCreatePullRequest(admin, repo, { head: 'feature/one', base: 'main', title: 'One', body: 'First\n\n- [ ] try it' }));
expect('a pull request', pr?.number === 1);
await step('create pr again', () => api.repos.repoCreatePullRequest(admin, repo, { head: 'feature/one', base: 'main', title: 'Twin' }));
await step('create pr from nowhere', () => api.repos.repoCreatePullRequest(admin, repo, { head: 'nope', base: 'main', title: 'None' }));
await step('create pr onto itself', () => api.repos.repoCreatePullRequest(admin, repo, { head: 'main', base: 'main', title: 'Self' }));
const mergeable = async (n) => (await api.repos.repoGetPullRequest(admin, repo, n)).data.mergeable;
/// `mergeable` is true before the check ran too: only a yes that stays is a yes.
const settled = async (n) => {
  let since = 0;
  await settle(`pull request ${n} is mergeable`, async () => {
    if (!(await mergeable(n))) since = 0;
    else if (since === 0) since = Date.now();
    return since !== 0 && Date.now() - since > 2_500;
  });
};
await settled(1);
await step('get pr', () => api.repos.repoGetPullRequest(admin, repo, 1));
await step('get missing pr', () => api.repos.repoGetPullRequest(admin, repo, 99));
await step('list prs', () => api.repos.repoListPullRequests(admin, repo, { state: 'open' }));
await step('edit pr', () => api.repos.repoEditPullRequest(admin, repo, 1, { title: 'One, better' }));
await step('pr files', () => api.repos.repoGetPullRequestFiles(admin, repo, 1));
await step('pr commits', () => api.repos.repoGetPullRequestCommits(admin, repo, 1));
await step('is merged before', () => api.repos.repoPullRequestIsMerged(admin, repo, 1));

// Reviews, statuses, protection
await step('approve own', () => api.repos.repoCreatePullReview(admin, repo, 1, { event: 'APPROVED', body: 'me' }));
const review = await step('request changes', () => bob.repos.repoCreatePullReview(admin, repo, 1, { event: 'REQUEST_CHANGES', body: 'no' }));
expect('a review', review?.id);
await step('approve', () => bob.repos.repoCreatePullReview(admin, repo, 1, { event: 'APPROVED', body: 'fine' }));
await step('list reviews', () => api.repos.repoListPullReviews(admin, repo, 1));
await step('one review', () => api.repos.repoGetPullReview(admin, repo, 1, review.id));
const head = commits[0].sha;
await step('status pending', () => api.repos.repoCreateStatus(admin, repo, head, { context: 'ci/test', state: 'pending', description: 'running' }));
await step('status success', () => api.repos.repoCreateStatus(admin, repo, head, { context: 'ci/test', state: 'success', description: 'done', target_url: 'https://example.org/1' }));
await step('list statuses', () => api.repos.repoListStatuses(admin, repo, head, { sort: 'oldest' }));
await step('combined status', () => api.repos.repoGetCombinedStatusByRef(admin, repo, head));
await step('combined status of none', () => api.repos.repoGetCombinedStatusByRef(admin, repo, 'main'));
await step('protect', () =>
  api.repos.repoCreateBranchProtection(admin, repo, { rule_name: 'main', required_approvals: 1, enable_status_check: true, status_check_contexts: ['ci/*'] }));
await step('protect again', () => api.repos.repoCreateBranchProtection(admin, repo, { rule_name: 'main' }));
await step('get protection', () => api.repos.repoGetBranchProtection(admin, repo, 'main'));
await step('get protection as writer', () => bob.repos.repoGetBranchProtection(admin, repo, 'main'));
await step('get missing protection', () => api.repos.repoGetBranchProtection(admin, repo, 'nope'));
await step('list protections', () => api.repos.repoListBranchProtection(admin, repo));
await step('edit protection', () => api.repos.repoEditBranchProtection(admin, repo, 'main', { required_approvals: 1, block_on_rejected_reviews: false }));
await step('get protected branch', () => api.repos.repoGetBranch(admin, repo, 'main'));
await step('get protected branch as writer', () => bob.repos.repoGetBranch(admin, repo, 'main'));
await step('write to protected', () =>
  bob.repos.repoCreateFile(admin, repo, 'x.txt', { content: b64('x'), message: 'x', branch: 'main' }));

// Merge
await settled(1);
await step('merge with wrong head', () => api.repos.repoMergePullRequest(admin, repo, 1, { Do: 'merge', head_commit_id: 'f'.repeat(40) }));
await step('merge with wrong style', () => api.repos.repoMergePullRequest(admin, repo, 1, { Do: 'octopus' }));
await settled(1);
await step('merge', () => api.repos.repoMergePullRequest(admin, repo, 1, { Do: 'merge', head_commit_id: head, delete_branch_after_merge: true }));
await settle('merged', async () => (await api.repos.repoGetPullRequest(admin, repo, 1)).data.merged);
await step('merge again', () => api.repos.repoMergePullRequest(admin, repo, 1, { Do: 'merge' }));
await step('is merged after', () => api.repos.repoPullRequestIsMerged(admin, repo, 1));
await step('merged pr', () => api.repos.repoGetPullRequest(admin, repo, 1));
await step('delete protection', () => api.repos.repoDeleteBranchProtection(admin, repo, 'main'));

// Tags
await step('create tag', () => api.repos.repoCreateTag(admin, repo, { tag_name: 'v1', target: 'main' }));
await step('create annotated tag', () => api.repos.repoCreateTag(admin, repo, { tag_name: 'v2', target: 'main', message: 'second' }));
await step('create tag again', () => api.repos.repoCreateTag(admin, repo, { tag_name: 'v1', target: 'main' }));
await step('create tag nowhere', () => api.repos.repoCreateTag(admin, repo, { tag_name: 'v3', target: 'nope' }));
await step('list tags', () => api.repos.repoListTags(admin, repo));
await step('get tag', () => api.repos.repoGetTag(admin, repo, 'v2'));
await step('get missing tag', () => api.repos.repoGetTag(admin, repo, 'v9'));
await step('delete tag', () => api.repos.repoDeleteTag(admin, repo, 'v1'));

// Cases that other servers are lenient about
const raw = (name, method, path, body, headers = {}) =>
  step(name, () =>
    rec.fetch(`${url}api/v1${path}`, {
      method, body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
      headers: { Authorization: `token ${token}`, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
    }).then(async (answer) => ({ data: await answer.json().catch(() => undefined) })));
const odd = `${suffix}-odd`;
const at = `/repos/${admin}/${odd}`;
const many = (name, files, more = {}) => raw(name, 'POST', `${at}/contents`, { files, ...more });
await raw('odd: create repo', 'POST', '/user/repos', { name: odd, auto_init: true, default_branch: 'main' });
await raw('odd: readme', 'GET', `${at}/contents/README.md`);
await raw('odd: body of nothing', 'POST', `${at}/branches`, '');
await raw('odd: body null', 'POST', `${at}/pulls`, 'null');
await raw('odd: no content type', 'POST', `${at}/branches`, undefined);
await raw('odd: head', 'HEAD', `${at}/branches`);
await raw('odd: wrong verb', 'PUT', '/repos/search');
await raw('odd: half a basic', 'GET', at, undefined, { Authorization: 'Basic bm9jb2xvbg==' });
await raw('odd: token as name', 'GET', '/user', undefined, { Authorization: `Basic ${b64(`${token}:whatever`)}` });
await raw('odd: query beats header', 'GET', '/user?token=bad');
await many('odd: default message', [
  { operation: 'create', path: 'd/one', content: b64('1\n') },
  { operation: 'create', path: 'two', content: b64('2\n') },
]);
await many('odd: default message of all kinds', [
  { operation: 'create', path: 'three', content: b64('3\n') },
  { operation: 'update', path: 'two', content: b64('2b\n') },
  { operation: 'delete', path: 'README.md' },
]);
await many('odd: move and change', [{ operation: 'update', path: 'moved', from_path: 'three', content: b64('3b\n') }], { message: '  trimmed  \n\n' });
await many('odd: create then update', [
  { operation: 'create', path: 'x', content: b64('1') },
  { operation: 'update', path: 'x', content: b64('2') },
]);
await many('odd: file over folder', [{ operation: 'create', path: 'd', content: b64('x') }]);
await many('odd: folder over file', [{ operation: 'create', path: 'two/x', content: b64('x') }]);
await many('odd: delete nowhere', [{ operation: 'delete', path: 'no/where' }]);
await raw('odd: dot path', 'POST', `${at}/contents/d/%2e%2e/up`, { content: b64('u'), author: { name: 'Only Name' } });
await raw('odd: git path', 'GET', `${at}/contents/.git/config`);
await raw('odd: log', 'GET', `${at}/commits?stat=false&files=false&verification=false`);
await raw('odd: log beyond the end', 'GET', `${at}/commits?limit=1&page=99&stat=false&files=false`);
await raw('odd: log of no file', 'GET', `${at}/commits?path=nope`);
await raw('odd: compare with nothing', 'GET', `${at}/compare/main...`);
await raw('odd: raw at no commit', 'GET', `${at}/raw/two?ref=${'f'.repeat(40)}`);
const tip = (await api.repos.repoGetBranch(admin, odd, 'main')).data.commit.id;
await raw('odd: upper case sha', 'GET', `${at}/contents/two?ref=${tip.toUpperCase()}`);
await raw('odd: branch for a pr', 'POST', `${at}/contents/pr`, { content: b64('p'), new_branch: 'side' });
for (const [name, body] of [
  ['no head', { title: 't', base: 'main' }], ['no base', { title: 't', head: 'side' }],
  ['no fork', { title: 't', head: 'tourbob:side', base: 'main' }],
]) await raw(`odd: pr with ${name}`, 'POST', `${at}/pulls`, body);
await raw('odd: pr', 'POST', `${at}/pulls`, { title: 'x'.repeat(300), head: 'side', base: 'main' });
await raw('odd: pr of another owner', 'GET', `${at}/pulls/main/tourbob:side`);
await raw('odd: pr for nobody', 'PATCH', `${at}/pulls/1`, { assignees: ['nope'] });
for (const [name, body] of [
  ['no event', {}], ['another word', { event: 'APPROVE' }], ['empty comment', { event: 'COMMENT' }],
  ['own rejection', { event: 'REQUEST_CHANGES' }], ['begun', { event: 'PENDING', body: 'begun' }], ['finished', { event: 'COMMENT', body: 'done' }],
]) await raw(`odd: review, ${name}`, 'POST', `${at}/pulls/1/reviews`, body);
await raw('odd: reviews', 'GET', `${at}/pulls/1/reviews?limit=1`);
await raw('odd: reviewer nobody', 'POST', `${at}/pulls/1/requested_reviewers`, { reviewers: ['nope'] });
const note = await raw('odd: comment', 'POST', `${at}/issues/1/comments`, { body: 'hello' });
await raw('odd: comments of nothing', 'GET', `${at}/issues/99/comments`);
await raw('odd: comments later', 'GET', `${at}/issues/1/comments?since=2999-01-01T00:00:00Z`);
await raw('odd: edit comment', 'PATCH', `${at}/issues/comments/${note?.id}`, { body: 'hi' });
await raw('odd: delete comment', 'DELETE', `${at}/issues/comments/${note?.id}`);
await raw('odd: deleted comment', 'GET', `${at}/issues/comments/${note?.id}`);
await raw('odd: close pr', 'PATCH', `${at}/pulls/1`, { state: 'closed' });
await raw('odd: approve closed', 'POST', `${at}/pulls/1/reviews`, { event: 'COMMENT', body: 'late' });
await raw('odd: prs of any state', 'GET', `${at}/pulls`);
await raw('odd: prs beyond the end', 'GET', `${at}/pulls?limit=1&page=99`);
await raw('odd: rule of strangers', 'POST', `${at}/branch_protections`, { rule_name: 'rel/*', enable_merge_whitelist: true, merge_whitelist_usernames: ['tourbob'], required_approvals: -1 });
await raw('odd: rule with fewer than none', 'PATCH', `${at}/branch_protections/rel%2F*`, { required_approvals: -5 });
await raw('odd: no such permission', 'PUT', `${at}/collaborators/tourbob`, { permission: 'owner' });
await raw('odd: delete repo', 'DELETE', at);

// An empty repository, an archived one
await step('create empty repo', () => api.user.createCurrentUserRepo({ name: `${suffix}-empty` }));
await step('branches of empty', () => api.repos.repoListBranches(admin, `${suffix}-empty`));
await step('contents of empty', () => api.repos.repoGetContentsList(admin, `${suffix}-empty`));
await step('commits of empty', () => api.repos.repoGetAllCommits(admin, `${suffix}-empty`));
await step('prs of empty', () => api.repos.repoListPullRequests(admin, `${suffix}-empty`));
await step('tags of empty', () => api.repos.repoListTags(admin, `${suffix}-empty`));
await step('archive', () => api.repos.repoEdit(admin, repo, { archived: true }));
await step('write to archived', () => api.repos.repoCreateFile(admin, repo, 'z.txt', { content: b64('z'), message: 'z', branch: 'main' }));
await step('delete repo', () => api.repos.repoDelete(admin, repo));
await step('get deleted repo', () => api.repos.repoGet(admin, repo));

rec.save(out);
console.log(`gitea-js: ${rec.steps.length} steps`);
