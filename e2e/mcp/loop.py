"""The loop by the official Python SDK on stdio: loop.py BLUE URL TOKEN

What the TypeScript clients do in loop.mjs, in fewer steps.
"""

import asyncio
import base64
import json
import os
import secrets
import sys
import urllib.request

from mcp import Client, StdioServerParameters

blue, url, token = sys.argv[1:]


def rest(method, path, body=None, auth=None):
    request = urllib.request.Request(
        f"{url.rstrip('/')}/api/v1{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": auth or f"token {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        text = answer.read()
    return json.loads(text) if text else None


class Agent:
    def __init__(self, client, kind):
        self.client = client
        self.owner = rest("GET", "/user")["login"]
        self.name = f"{kind}-{secrets.token_hex(4)}"
        rest("POST", "/user/repos", {"name": self.name, "auto_init": True, "default_branch": "main"})
        self.repo = f"/repos/{self.owner}/{self.name}"

    async def call(self, tool, args, progress=None):
        args = {"owner": self.owner, "name": self.name, **args}
        return await self.client.call_tool(tool, args, progress_callback=progress)

    async def does(self, tool, progress=None, **args):
        result = await self.call(tool, args, progress)
        text = result.content[0].text
        assert not result.is_error, f"{tool}: {text}"
        assert json.loads(text) == result.structured_content
        return result.structured_content

    async def fails(self, tool, codes, **args):
        result = await self.call(tool, args)
        text = result.content[0].text
        assert result.is_error, f"{tool} should have failed: {text}"
        assert json.loads(text)["error"]["code"] in codes, text

    def ci(self, sha, state):
        rest("POST", f"{self.repo}/statuses/{sha}", {"state": state, "context": "ci"})


async def feature_branch(client):
    agent = Agent(client, "py-feature")
    login, password = f"peer-{secrets.token_hex(4)}", f"Pass-{secrets.token_hex(8)}"
    user = {"username": login, "password": password, "email": f"{login}@example.org", "must_change_password": False}
    rest("POST", "/admin/users", user)
    rest("PUT", f"{agent.repo}/collaborators/{login}", {"permission": "write"})
    peer = "Basic " + base64.b64encode(f"{login}:{password}".encode()).decode()
    rules = {"rule_name": "main", "branch_name": "main", "required_approvals": 1}
    rules |= {"enable_status_check": True, "status_check_contexts": ["ci"]}
    rest("POST", f"{agent.repo}/branch_protections", rules)

    assert (await agent.does("repo_status"))["workflow"] == "feature-branch"
    written = await agent.does("file_write_branch", branch="topic", path="a.txt", content="a\n", message="Add a")
    index = (await agent.does("pr_create", title="Add a", head="topic"))["pr_number"]
    agent.ci(written["commit_sha"], "failure")
    assert (await agent.does("workflow_run_status", index=index))["state"] == "failure"
    await agent.fails("pr_merge", ["not_mergeable"], index=index, style="merge")

    fixed = await agent.does("file_write_branch", branch="topic", path="a.txt", content="b\n", message="Fix a")
    agent.ci(fixed["commit_sha"], "pending")
    reports = []

    # CI is done while the agent waits, which it knows from the first report.
    async def progress(done, total, message):
        reports.append(done)
        if len(reports) == 1:
            await asyncio.to_thread(agent.ci, fixed["commit_sha"], "success")

    waited = await agent.does("workflow_run_status", progress, index=index, wait_seconds=60)
    assert waited["state"] == "success", waited
    assert reports and reports == sorted(set(reports)), reports
    rest("POST", f"{agent.repo}/pulls/{index}/reviews", {"event": "APPROVED", "body": "fine"}, peer)
    await agent.fails("pr_merge", ["conflict"], index=index, style="merge", head_sha=written["commit_sha"])
    ready = await agent.does("pr_verify", index=index, wait_seconds=30)
    assert ready["can_merge"] == "yes", ready
    merged = await agent.does("pr_merge", index=index, style="merge", head_sha=ready["head_sha"])
    assert merged["merged"] is True
    await agent.does("branch_delete", branch="topic")
    await agent.does("tag_create", tag="v1", target="main", message="First")


async def trunk(client):
    agent = Agent(client, "py-trunk")
    assert (await agent.does("repo_status"))["workflow"] == "trunk"
    first = await agent.does("file_write_branch", branch="main", path="a.txt", content="a\n")
    await agent.does("file_write_branch", branch="left", path="a.txt", content="left\n")
    index = (await agent.does("pr_create", title="Left", head="left"))["pr_number"]
    await agent.does("file_write_branch", branch="main", path="a.txt", content="right\n")
    verdict = await agent.does("pr_verify", index=index, wait_seconds=30)
    assert verdict["conflicts"] and verdict["can_merge"] == "no", verdict
    await agent.fails("pr_merge", ["not_mergeable", "conflict"], index=index, style="merge")
    await agent.does("tag_create", tag="v1", target=first["commit_sha"])


async def main():
    server = StdioServerParameters(command=blue, args=["mcp"], env=dict(os.environ))
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
        assert len(tools) == 14, [tool.name for tool in tools]
        await feature_branch(client)
        await trunk(client)
    print("python: done")


asyncio.run(main())
