"""The story by the official Python SDK"""

import asyncio
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

from story import MCP, PATIENCE, content, refresh, revoke, use, visit


class Kept:
    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Callback:
    """A loopback server that waits for the answer"""

    async def start(self):
        self.answer = asyncio.get_running_loop().create_future()
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.url = "http://127.0.0.1:%d/callback" % self.server.sockets[0].getsockname()[1]
        return self

    async def serve(self, reader, writer):
        target = (await reader.readline()).split()[1].decode()
        while (await reader.readline()).strip():
            pass
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nDone.")
        await writer.drain()
        writer.close()
        if target.startswith("/callback?") and not self.answer.done():
            self.answer.set_result({key: values[0] for key, values in parse_qs(urlsplit(target).query).items()})

    async def result(self):
        answer = await asyncio.wait_for(self.answer, PATIENCE)
        return AuthorizationCodeResult(code=answer["code"], state=answer["state"], iss=answer["iss"])


async def main():
    kept, callback, asked = Kept(), await Callback().start(), []

    async def browser(url):
        asked.append(url)
        await visit(url)

    metadata = OAuthClientMetadata(client_name="Python story", redirect_uris=[callback.url])
    auth = OAuthClientProvider(MCP, metadata, kept, browser, callback.result)
    async with httpx2.AsyncClient(auth=auth, timeout=60) as http:
        async with Client(streamable_http_client(MCP, http_client=http)) as client:

            async def call(name, args):
                result = await client.call_tool(name, args)
                return result.is_error, content(result)

            tools = (await client.list_tools()).tools
            await use(tools, call)
            await refresh(kept.get_tokens, call)
            assert len(asked) == 1, asked
            await revoke(kept.get_tokens, kept.client.client_id)


asyncio.run(main())
