"""The fastmcp client lists the tools and calls one, on stdio and by HTTP: fastmcp_client.py BLUE URL"""

import asyncio
import os
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

blue, url = sys.argv[1:]


async def main():
    for server in (StdioTransport(blue, ["mcp"], env=dict(os.environ)), url):
        async with Client(server) as client:
            assert len(await client.list_tools()) == 14
            result = await client.call_tool("repo_status", {"owner": "acme", "name": "storefront"})
            assert result.structured_content["default_branch"] == "main", result


asyncio.run(main())
