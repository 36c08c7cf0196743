"""A pull request's whole life by PyGithub: pygithub_tour.py API TOKEN OTHER_TOKEN"""

import sys
import time

from github import Auth, Github, GithubException, InputGitTreeElement, UnknownObjectException

api, token, other_token = sys.argv[1:4]
gh = Github(base_url=api, auth=Auth.Token(token), retry=None, seconds_between_requests=None, seconds_between_writes=None)
other = Github(base_url=api, auth=Auth.Token(other_token), retry=None, seconds_between_requests=None, seconds_between_writes=None)
checks = 0


def same(actual, expected):
    global checks
    assert actual == expected, f"{actual!r} is not {expected!r}"
    checks += 1


def fails(status, call):
    try:
        call()
    except GithubException as error:
        same(error.status, status)
        return
    raise AssertionError(f"expected {status}")


def until(what, look):
    end = time.monotonic() + 15
    while time.monotonic() < end:
        if look():
            return
        time.sleep(0.1)
    raise AssertionError(f"never came true: {what}")


me = gh.get_user()
repo = me.create_repo("pygithub-tour", auto_init=True, description="tour")
same(repo.full_name, f"{me.login}/pygithub-tour")
repo = gh.get_repo(f"{me.login}/pygithub-tour")
same((repo.default_branch, repo.private, repo.permissions.admin), ("main", False, True))
fails(404, lambda: gh.get_repo(f"{me.login}/no-such-repo"))
repo.add_to_collaborators(other.get_user().login, "push")

# Branches
main = repo.get_branch("main")
repo.create_git_ref("refs/heads/feature/one", main.commit.sha)
same(sorted(b.name for b in repo.get_branches()), ["feature/one", "main"])
fails(422, lambda: repo.create_git_ref("refs/heads/feature/one", main.commit.sha))

# Contents
made = repo.create_file("docs/hello.md", "add hello", "hello\n", branch="feature/one")
read = repo.get_contents("docs/hello.md", ref="feature/one")
same((read.decoded_content, read.sha), (b"hello\n", made["content"].sha))
repo.update_file("docs/hello.md", "change", "hello again\n", read.sha, branch="feature/one")
fails(409, lambda: repo.update_file("docs/hello.md", "lost", "x", read.sha, branch="feature/one"))
same([c.path for c in repo.get_contents("docs", ref="feature/one")], ["docs/hello.md"])
repo.create_file("drop.txt", "add", "x", branch="feature/one")
drop = repo.get_contents("drop.txt", ref="feature/one")
repo.delete_file("drop.txt", "drop", drop.sha, branch="feature/one")
try:
    repo.get_contents("drop.txt", ref="feature/one")
    raise AssertionError("expected 404")
except UnknownObjectException:
    pass

# Git data
ref = repo.get_git_ref("heads/feature/one")
base = repo.get_git_commit(ref.object.sha)
tree = repo.create_git_tree(
    [InputGitTreeElement("src/a.txt", "100644", "blob", content="a\n")], base_tree=base.tree
)
commit = repo.create_git_commit("add a", tree, [base])
ref.edit(commit.sha)
compared = repo.compare("main", "feature/one")
same((compared.ahead_by, compared.behind_by, compared.status), (5, 0, "ahead"))

# Pull request
pr = repo.create_pull(base="main", head="feature/one", title="One", body="First")
same((pr.number, pr.state, pr.draft), (1, "open", False))
fails(422, lambda: repo.create_pull(base="main", head="feature/one", title="Twin"))
same([p.number for p in repo.get_pulls(state="open", head=f"{me.login}:feature/one")], [1])
same(sorted(f.filename for f in pr.get_files()), ["docs/hello.md", "src/a.txt"])
same(pr.is_merged(), False)

# Statuses, reviews, protection
repo.get_commit(commit.sha).create_status("success", context="ci/test", description="done")
same(repo.get_commit(commit.sha).get_combined_status().state, "success")
branch = repo.get_branch("main")
branch.edit_protection(strict=False, contexts=["ci/test"], required_approving_review_count=1, enforce_admins=True)
protection = repo.get_branch("main").get_protection()
same(protection.required_pull_request_reviews.required_approving_review_count, 1)
same(repo.get_branch("main").protected, True)
until("mergeable is known", lambda: repo.get_pull(1).mergeable is not None)
fails(405, lambda: repo.get_pull(1).merge())
other.get_repo(repo.full_name).get_pull(1).create_review(event="APPROVE", body="fine")
same([r.state for r in pr.get_reviews()], ["APPROVED"])
fails(409, lambda: repo.get_pull(1).merge(sha="f" * 40))
result = repo.get_pull(1).merge(merge_method="merge", sha=commit.sha)
same(result.merged, True)
same(repo.get_pull(1).is_merged(), True)
same(len(repo.get_commit(result.sha).parents), 2)
repo.get_git_ref("heads/feature/one").delete()

# Tags
repo.create_git_ref("refs/tags/v1", result.sha)
tag = repo.create_git_tag("v2", "second", result.sha, "commit")
repo.create_git_ref("refs/tags/v2", tag.sha)
same(sorted((t.name, t.commit.sha) for t in repo.get_tags()), [("v1", result.sha), ("v2", result.sha)])
repo.get_branch("main").remove_protection()
repo.delete()
print(f"PyGithub: {checks} checks")
