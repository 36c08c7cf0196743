"""A FastMCP server behind its OAuthProxy: proxy.py FORGE CLIENT_ID CLIENT_SECRET PORT

Everything is as it comes, but one: tokens of the forge are taken for good unseen, so that it is not
slowed down by a request to the forge that the broker does not make either.
"""

import sys

from fastmcp import FastMCP
from fastmcp.server.auth import OAuthProxy
from fastmcp.server.auth.providers.debug import DebugTokenVerifier
from starlette.responses import JSONResponse

forge, client_id, client_secret, port = sys.argv[1:]
auth = OAuthProxy(
    upstream_authorization_endpoint=f"{forge}/login/oauth/authorize",
    upstream_token_endpoint=f"{forge}/login/oauth/access_token",
    upstream_client_id=client_id,
    upstream_client_secret=client_secret,
    token_verifier=DebugTokenVerifier(),
    base_url=f"http://127.0.0.1:{port}",
    # Without it every client is asked for a scope that the forge would not know.
    extra_authorize_params={"scope": "read:user write:repository"},
)
mcp = FastMCP("peer", auth=auth)


@mcp.tool
def whoami() -> str:
    """Say who calls"""
    return "somebody"


@mcp.custom_route("/healthz", methods=["GET"])
async def healthz(_):
    return JSONResponse({"status": "ok"})


mcp.run(
    transport="http",
    host="127.0.0.1",
    port=int(port),
    stateless_http=True,
    json_response=True,
    show_banner=False,
    log_level="warning",
)
