"""The story by the client of FastMCP, which opens the browser by itself"""

import asyncio

from fastmcp import Client
from fastmcp.client.auth import OAuth

from story import MCP, content, refresh, revoke, use


async def main():
    auth = OAuth(MCP)
    async with Client(MCP, auth=auth) as client:

        async def call(name, args):
            result = await client.call_tool(name, args, raise_on_error=False)
            return result.is_error, content(result)

        async def tokens():
            return await auth.token_storage_adapter.get_tokens()

        await use(await client.list_tools(), call)
        await refresh(tokens, call)
        await revoke(tokens, (await auth.token_storage_adapter.get_client_info()).client_id)


asyncio.run(main())
