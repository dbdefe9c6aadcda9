"""Options that every command takes, before or after the command's name."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection
from typing import Any, TypeVar

import msgspec
import rich_click as click

from tui.cli.usage import Encoding, Languages, Pages, Readable, Whole, Words

_F = TypeVar("_F", bound=Callable[..., Any])


DEMO_SIZES = "89 MiB to download, 94 MiB on disk"
"""Of the demo model, for people; a test holds it to the real figures."""


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """The shared options as given; empty or 0 where not given."""

    model: str = ""
    ctx_size: int = 0
    parallel: int = 0
    server_url: str = ""
    server: str = ""
    json: bool = False

    @property
    def api_key(self) -> str:
        """The key for `--server-url`; from the environment, so that it is in no process list."""
        return os.environ.get("LONGSCROLL_API_KEY", "")


_OPTIONS = (
    click.option(
        "--model",
        type=Words(),
        metavar="PATH|demo",
        help=f"The GGUF file to use, or `demo` (fetched once: {DEMO_SIZES}).",
    ),
    click.option(
        "--ctx-size", type=Whole(256), metavar="N", help="Context of one conversation, in tokens (256 or more)."
    ),
    click.option("--parallel", type=Whole(1, 256), metavar="N", help="How many requests run side by side."),
    click.option(
        "--server-url",
        type=Words(),
        metavar="URL",
        help="Use the llama-server that runs there; its key is read from LONGSCROLL_API_KEY.",
    ),
    click.option(
        "--server",
        type=Words(),
        metavar="PATH",
        help="The llama-server binary to start (found by itself when not given).",
    ),
    click.option("--json", "json", is_flag=True, default=None, help="Print JSON, one object a line, and nothing else."),
)


class ReadWishes(msgspec.Struct, frozen=True, kw_only=True):
    """How documents are to be read; empty where nothing was said."""

    password: str = ""
    encoding: str = ""
    ocr: str = ""
    """Languages for scanned pages, or `auto`."""
    pages: str = ""
    """Such as `5-10,14`."""
    typed: list[str] = []
    """Passwords that were typed at a prompt and opened a document; the next document is tried with them first."""


_READ_OPTIONS = (
    click.option(
        "--password",
        envvar="LONGSCROLL_PASSWORD",
        default="",
        metavar="TEXT",
        help="Password of an encrypted PDF; asked for at a terminal. Also read from LONGSCROLL_PASSWORD.",
    ),
    click.option(
        "--encoding",
        type=Encoding(),
        metavar="NAME",
        help="Encoding of text files, such as gb18030 (found out when not given).",
    ),
    click.option(
        "--ocr",
        type=Languages(),
        metavar="[LANGS]",
        help="Read scanned pages with tesseract, in languages such as eng+chi_sim (found out when not given).",
    ),
    click.option("--pages", type=Pages(), metavar="LIST", help="Read only these pages, such as 5-10,14 or 20-."),
)

paths_argument = click.argument("paths", nargs=-1, required=True, type=Readable(standard_input=True), metavar="PATH...")
"""One or more of: a file, a folder, a pattern, `-` for standard input. See `opening.open_inputs`."""


def with_reading(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for reading documents to a command and hand them to it as `reading`, a ReadWishes."""

    @functools.wraps(function)
    def call(*args: Any, **values: Any) -> Any:
        reading = ReadWishes(
            password=values.pop("password") or "",
            encoding=values.pop("encoding") or "",
            ocr=values.pop("ocr") or "",
            pages=values.pop("pages") or "",
        )
        return function(*args, reading=reading, **values)

    for option in reversed(_READ_OPTIONS):
        call = option(call)
    return call


def joint_code(codes: Collection[int]) -> int:
    """The exit code of a batch: that which all documents ended with, else 1."""
    kinds = set(codes)
    return kinds.pop() if len(kinds) == 1 else 1


def shared_options(function: _F) -> _F:
    """Add the shared options to a command or group."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def with_shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the shared options to a command and hand them to it as one `Shared` in front.

    An option after the command's name wins over the same one before it.
    """

    @click.pass_context
    @functools.wraps(function)
    def call(ctx: click.Context, /, **values: Any) -> Any:
        root = ctx.find_root()
        own = {name: values.pop(name, None) for name in Shared.__struct_fields__}
        before = root.params if root is not ctx else {}
        merged = {name: before.get(name) if value is None else value for name, value in own.items()}
        shared = Shared(**{name: value for name, value in merged.items() if value is not None})
        return ctx.exit(int(function(shared, **values)))

    return shared_options(call)
