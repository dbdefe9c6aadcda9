"""A server that says exactly what a test tells it to, byte for byte: what a real one does too seldom to wait for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

Answer = Callable[[str, bytes, asyncio.StreamWriter], Awaitable[None]]
Serve = Callable[[Answer], Awaitable[str]]

SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunked(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def whole(status: int, body: bytes, content_type: str = "application/json") -> bytes:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + body


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Starts a server whose answers a test writes: `answer(path, body, writer)`; gives its address."""
    servers: list[asyncio.Server] = []

    async def start(answer: Answer) -> str:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
                length = 0
                for line in head.split(b"\r\n"):
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                body = await reader.readexactly(length)
                await answer(head.split(b" ")[1].decode(), body, writer)
                await writer.drain()
            except (asyncio.IncompleteReadError, ConnectionError):
                pass  # the client went away, which is what some tests want
            finally:
                writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        servers.append(server)
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    yield start
    for server in servers:
        server.close()
