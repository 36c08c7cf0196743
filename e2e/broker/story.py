"""What the stories of the Python clients have in common; `story.mjs` says what the variables are"""

import asyncio
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request

MCP, ROBOT, PERSON, OWN, FOREIGN = (os.environ[name] for name in ("MCP", "ROBOT", "PERSON", "OWN", "FOREIGN"))
PATIENCE = 90


def repo(name):
    owner, repository = name.split("/")
    return {"owner": owner, "name": repository}


def post(url, body, **headers):
    request = urllib.request.Request(url, method="POST", data=body, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, dict(answer.headers)
    except urllib.error.HTTPError as refused:
        return refused.code, dict(refused.headers)


async def visit(url):
    """Let the person's browser open an address"""
    status, _ = await asyncio.to_thread(post, f"{ROBOT}/visit?person={PERSON}", url.encode())
    assert status == 202, status


async def use(tools, call):
    """What the person's client can do, and what it cannot; `call` gives error or None, and the content"""
    assert len(tools) == 14, tools
    failed, status = await call("repo_status", repo(OWN))
    assert not failed, status
    assert status["default_branch"] == f"home-of-{PERSON}", status
    failed, status = await call("repo_status", repo(FOREIGN))
    assert failed and status["error"]["code"] == "not_found", f"{PERSON} sees {FOREIGN}: {status}"


async def refresh(tokens, call):
    """The token runs out while the client works, and it goes on without its person"""
    before = await tokens()
    deadline = time.monotonic() + PATIENCE
    while (await tokens()).access_token == before.access_token:
        assert time.monotonic() < deadline, "the token was never refreshed"
        failed, status = await call("repo_status", repo(OWN))
        assert not failed, status
        await asyncio.sleep(0.5)
    assert (await tokens()).refresh_token != before.refresh_token


async def revoke(tokens, client_id):
    """The client signs out: its tokens open nothing any more"""
    origin = "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(MCP))
    with urllib.request.urlopen(f"{origin}/.well-known/oauth-authorization-server", timeout=30) as answer:
        endpoint = json.load(answer)["revocation_endpoint"]
    kept = await tokens()
    form = urllib.parse.urlencode({"token": kept.access_token, "client_id": client_id})
    status, _ = post(endpoint, form.encode())
    assert status == 200, status
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    headers = {"Authorization": f"Bearer {kept.access_token}", "Content-Type": "application/json"}
    headers["Accept"] = "application/json, text/event-stream"
    status, answered = post(MCP, body, **headers)
    assert status == 401, status
    challenge = next(value for name, value in answered.items() if name.lower() == "www-authenticate")
    assert 'error="invalid_token"' in challenge, challenge


def content(result):
    """What a tool said"""
    return json.loads(result.content[0].text)
