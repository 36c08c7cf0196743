// A pull request's whole life by @octokit/rest: node octokit.mjs API TOKEN OTHER_TOKEN

import assert from 'node:assert/strict';
import { Octokit } from '@octokit/rest';

const [baseUrl, token, otherToken] = process.argv.slice(2);
const log = { debug() {}, info() {}, warn() {}, error() {} };
const octokit = new Octokit({ baseUrl, auth: token, log });
const other = new Octokit({ baseUrl, auth: otherToken, log });
const b64 = (text) => Buffer.from(text).toString('base64');
let checks = 0;
const is = (actual, expected, what) => {
  assert.deepEqual(actual, expected, what);
  checks += 1;
};
const fails = async (status, call, words) => {
  const error = await call.then(() => null, (e) => e);
  assert.ok(error, `expected ${status}`);
  is(error.status, status, error.message);
  if (words) assert.match(error.message, words);
};
const until = async (what, look) => {
  for (const end = Date.now() + 15_000; Date.now() < end; ) {
    if (await look()) return;
    await new Promise((r) => setTimeout(r, 100));
  }
  assert.fail(`never came true: ${what}`);
};

const { data: me } = await octokit.users.getAuthenticated();
const { data: them } = await other.users.getAuthenticated();
const at = { owner: me.login, repo: 'octokit-tour' };

// Repository
const { data: made } = await octokit.repos.createForAuthenticatedUser({ name: at.repo, auto_init: true, description: 'tour' });
is(made.full_name, `${at.owner}/${at.repo}`);
const { data: repo } = await octokit.repos.get(at);
is([repo.default_branch, repo.archived, repo.permissions.admin], ['main', false, true]);
await fails(404, octokit.repos.get({ owner: at.owner, repo: 'no-such-repo' }), /Not Found/);
await octokit.repos.addCollaborator({ ...at, username: them.login, permission: 'push' });

// Branches and refs
const { data: main } = await octokit.repos.getBranch({ ...at, branch: 'main' });
await octokit.git.createRef({ ...at, ref: 'refs/heads/feature/one', sha: main.commit.sha });
await fails(422, octokit.git.createRef({ ...at, ref: 'refs/heads/feature/one', sha: main.commit.sha }), /Reference already exists/);
const branches = await octokit.paginate(octokit.repos.listBranches, { ...at, per_page: 1 });
is(branches.map((b) => b.name).sort(), ['feature/one', 'main'], 'paged by Link');

// Contents
const path = 'docs/hello world #1.md';
const { data: file } = await octokit.repos.createOrUpdateFileContents({ ...at, path, branch: 'feature/one', message: 'add', content: b64('hello\n') });
const { data: read } = await octokit.repos.getContent({ ...at, path, ref: 'feature/one' });
is([Buffer.from(read.content, 'base64').toString(), read.sha, read.type], ['hello\n', file.content.sha, 'file']);
const { data: raw } = await octokit.repos.getContent({ ...at, path, ref: 'feature/one', mediaType: { format: 'raw' } });
is(raw, 'hello\n');
await octokit.repos.createOrUpdateFileContents({ ...at, path, branch: 'feature/one', message: 'change', content: b64('hello again\n'), sha: read.sha });
await fails(409, octokit.repos.createOrUpdateFileContents({ ...at, path, branch: 'feature/one', message: 'lost', content: b64('x'), sha: read.sha }), /does not match/);
const { data: listing } = await octokit.repos.getContent({ ...at, path: 'docs', ref: 'feature/one' });
is(listing.map((e) => e.name), ['hello world #1.md']);
await fails(404, octokit.repos.getContent({ ...at, path: 'nope', ref: 'feature/one' }));

// Many files in one commit by the git data API
const { data: ref } = await octokit.git.getRef({ ...at, ref: 'heads/feature/one' });
const { data: base } = await octokit.git.getCommit({ ...at, commit_sha: ref.object.sha });
const { data: blob } = await octokit.git.createBlob({ ...at, content: b64('b\n'), encoding: 'base64' });
const { data: tree } = await octokit.git.createTree({ ...at, base_tree: base.tree.sha, tree: [
  { path: 'src/a.txt', mode: '100644', type: 'blob', content: 'a\n' },
  { path: 'src/b.txt', mode: '100755', type: 'blob', sha: blob.sha },
] });
const { data: commit } = await octokit.git.createCommit({ ...at, message: 'two at once', tree: tree.sha, parents: [ref.object.sha] });
await octokit.git.updateRef({ ...at, ref: 'heads/feature/one', sha: commit.sha, force: false });
await fails(422, octokit.git.updateRef({ ...at, ref: 'heads/feature/one', sha: main.commit.sha, force: false }), /not a fast forward/);
const { data: whole } = await octokit.git.getTree({ ...at, tree_sha: commit.sha, recursive: '1' });
is(whole.tree.filter((e) => e.type === 'blob').map((e) => [e.path, e.mode]).slice(-2), [['src/a.txt', '100644'], ['src/b.txt', '100755']]);
const { data: compared } = await octokit.repos.compareCommitsWithBasehead({ ...at, basehead: 'main...feature/one' });
is([compared.status, compared.ahead_by, compared.behind_by, compared.files.length], ['ahead', 3, 0, 3]);

// Pull request
const { data: pr } = await octokit.pulls.create({ ...at, head: 'feature/one', base: 'main', title: 'One', body: 'First', draft: true });
is([pr.number, pr.state, pr.draft, pr.merged], [1, 'open', true, false]);
await fails(422, octokit.pulls.create({ ...at, head: 'feature/one', base: 'main', title: 'Twin' }), /already exists/);
await fails(422, octokit.pulls.create({ ...at, head: 'nope', base: 'main', title: 'None' }));
await fails(405, octokit.pulls.merge({ ...at, pull_number: 1 }), /draft/i);
const { data: plain } = await octokit.pulls.create({ ...at, head: 'feature/one', base: 'main', title: 'x' }).catch((e) => ({ data: e.status }));
is(plain, 422);
await octokit.pulls.update({ ...at, pull_number: 1, state: 'closed' });
const { data: second } = await octokit.pulls.create({ ...at, head: 'feature/one', base: 'main', title: 'Two' });
is([second.number, second.draft], [2, false]);
const open = await octokit.paginate(octokit.pulls.list, { ...at, state: 'open', head: `${at.owner}:feature/one` });
is(open.map((p) => p.number), [2]);
const { data: files } = await octokit.pulls.listFiles({ ...at, pull_number: 2 });
is(files.map((f) => [f.filename, f.status]), [[path, 'added'], ['src/a.txt', 'added'], ['src/b.txt', 'added']]);

// Statuses, reviews, protection
await octokit.repos.createCommitStatus({ ...at, sha: commit.sha, state: 'success', context: 'ci/test', description: 'done' });
const { data: combined } = await octokit.repos.getCombinedStatusForRef({ ...at, ref: commit.sha });
is([combined.state, combined.total_count], ['success', 1]);
await fails(422, octokit.pulls.createReview({ ...at, pull_number: 2, event: 'APPROVE' }));
await octokit.repos.updateBranchProtection({
  ...at, branch: 'main', enforce_admins: true, restrictions: null,
  required_status_checks: { strict: false, contexts: ['ci/test'] },
  required_pull_request_reviews: { required_approving_review_count: 1 },
});
const { data: rule } = await octokit.repos.getBranchProtection({ ...at, branch: 'main' });
is([rule.required_pull_request_reviews.required_approving_review_count, rule.required_status_checks.contexts], [1, ['ci/test']]);
await until('mergeable is known', async () => (await octokit.pulls.get({ ...at, pull_number: 2 })).data.mergeable !== null);
await fails(405, octokit.pulls.merge({ ...at, pull_number: 2 }), /approving review/i);
await other.pulls.createReview({ ...at, pull_number: 2, event: 'APPROVE', body: 'fine' });
const { data: reviews } = await octokit.pulls.listReviews({ ...at, pull_number: 2 });
is(reviews.map((r) => [r.user.login, r.state]), [[them.login, 'APPROVED']]);

// Merge
await fails(409, octokit.pulls.merge({ ...at, pull_number: 2, sha: 'f'.repeat(40) }), /Head branch was modified/);
await fails(404, octokit.pulls.checkIfMerged({ ...at, pull_number: 2 }));
const { data: merged } = await octokit.pulls.merge({ ...at, pull_number: 2, merge_method: 'squash', sha: commit.sha, commit_title: 'All of it' });
is(merged.merged, true);
is((await octokit.pulls.checkIfMerged({ ...at, pull_number: 2 })).status, 204);
const { data: after } = await octokit.pulls.get({ ...at, pull_number: 2 });
is([after.state, after.merged, after.merge_commit_sha], ['closed', true, merged.sha]);
const { data: squashed } = await octokit.repos.getCommit({ ...at, ref: merged.sha });
is([squashed.commit.message.split('\n')[0], squashed.parents.length], ['All of it', 1]);
await octokit.git.deleteRef({ ...at, ref: 'heads/feature/one' });
await fails(422, octokit.git.deleteRef({ ...at, ref: 'heads/feature/one' }), /Reference does not exist/);

// Tags
await octokit.git.createRef({ ...at, ref: 'refs/tags/v1', sha: merged.sha });
const { data: tag } = await octokit.git.createTag({ ...at, tag: 'v2', message: 'second', object: merged.sha, type: 'commit' });
await octokit.git.createRef({ ...at, ref: 'refs/tags/v2', sha: tag.sha });
const { data: tags } = await octokit.repos.listTags(at);
is(tags.map((t) => [t.name, t.commit.sha]).sort(), [['v1', merged.sha], ['v2', merged.sha]]);
await octokit.repos.deleteBranchProtection({ ...at, branch: 'main' });
await octokit.repos.delete(at);
console.log(`octokit: ${checks} checks`);
