"""Use a llama-server that somebody else started. It is asked for proof that it is one, and never stopped."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import httpx

from tui.errors import NoModel, UsageProblem
from tui.server.client import LlamaClient
from tui.server.errors import ServerAnswer, ServerGone, StillLoading, WrongKey
from tui.server.state import OnState, ServerState
from tui.server.types import Props
from tui.text import one_line

_POLL_S = 0.3


class AttachedServer:
    """A server of somebody else. Closing it closes the connection; the server goes on."""

    def __init__(self, client: LlamaClient, props: Props) -> None:
        self.client = client
        self.props = props
        self.warnings: list[str] = []
        """What about this server differs from one that longscroll starts, a sentence each."""

    async def aclose(self) -> None:
        """End own answers and close the connections."""
        await self.client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def server_address(url: str) -> str:
    """A full address from what people type: `localhost:8080`, `http://host/v1/`. Raises UsageProblem."""
    address = url.strip()
    if "://" not in address:
        address = f"http://{address}"
    try:
        parts = urlsplit(address)
        httpx.URL(address)
        is_right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and not parts.query
    except (ValueError, httpx.InvalidURL):
        is_right = False
    if not is_right or not address.isprintable() or " " in address:
        raise UsageProblem(
            f"`{one_line(url, 200)}` is no address of a server.", "Write it like `http://127.0.0.1:8080`."
        )
    return address.rstrip("/").removesuffix("/v1").rstrip("/")


async def attach(url: str, api_key: str = "", *, on_state: OnState | None = None) -> AttachedServer:
    """Connect to a running llama-server; while it loads its model it is waited for.

    Raises NoModel: not reachable, wrong key, no llama-server; UsageProblem for what is no address or no key.
    """
    address = server_address(url)
    client = LlamaClient(address, _usable(api_key))
    try:
        props = await _prove(client, address, api_key, on_state)
        attached = AttachedServer(client, props)
        attached.warnings = await _differences(client, props)
    except BaseException:
        await client.aclose()
        raise
    if on_state is not None:
        on_state(ServerState("ready", "ready"))
    return attached


def _usable(api_key: str) -> str:
    """The key without white space around it. It never stands in a message."""
    key = api_key.strip()
    if not (key.isascii() and key.isprintable()):
        raise UsageProblem(
            "The API key of the server holds characters that no key has (beyond ASCII, or line ends).",
            "Set LONGSCROLL_API_KEY to the key alone.",
        )
    return key


async def _prove(client: LlamaClient, address: str, api_key: str, on_state: OnState | None) -> Props:
    shown = one_line(address, 200)
    stranger = NoModel(
        f"What answers at {shown} is not a llama-server.",
        "Name the address of a llama-server, or leave `--server-url` out to have one started.",
    )
    while True:
        try:
            props = await client.props()
        except StillLoading:
            if on_state is not None:
                on_state(ServerState("loading", "waiting for the server to load its model"))
            await asyncio.sleep(_POLL_S)
            continue
        except WrongKey as error:
            what = "does not accept this API key" if api_key else "wants an API key"
            raise WrongKey(f"The server at {shown} {what}.", error.remedy) from error
        except ServerGone as error:
            raise ServerGone(
                f"No server can be reached at {shown}: {error.what}",
                "Start it, correct `--server-url`, or leave it out to have a server started.",
            ) from error
        except ServerAnswer as error:
            raise stranger from error
        if props.raw.get("role") == "router":
            raise NoModel(
                f"The llama-server at {shown} is a router without a model of its own.",
                "Start llama-server with `-m MODEL`.",
            )
        if props.n_ctx < 1 or props.total_slots < 1 or "build_info" not in props.raw:
            raise stranger
        return props


async def _differences(client: LlamaClient, props: Props) -> list[str]:
    warnings = []
    try:
        await client.slots()
    except ServerAnswer:
        warnings.append("This llama-server does not show its slots (`--no-slots`).")
    if props.is_sleeping:
        warnings.append("This llama-server sleeps; its first answer will take longer.")
    return warnings
