"""meco watch: a page that follows a run or a campaign, served to this machine alone."""

from __future__ import annotations

import argparse
import json
import re
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

from meco.core.signals import treat_sigterm_as_interrupt
from meco.errors import InvalidInput, MecoError
from meco.result import to_json_types
from meco.run.folder.reader import read_run_json

LOCAL_HOST = "127.0.0.1"
OWN_HOST = re.compile(rf"({re.escape(LOCAL_HOST)}|localhost)(:[0-9]+)?")
REQUEST_SECONDS = 10.0  # for a request to come in, and for an answer to be taken
MOST_REQUESTS = 64  # that are answered at once; another takes the place of the oldest
CONTENT_POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; frame-ancestors 'none'; base-uri 'none'"
)
PAGE = {"/": ("watch.html", "text/html"), "/watch.css": ("watch.css", "text/css"),
        "/watch.js": ("watch.js", "text/javascript")}  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `meco watch`."""
    parser.add_argument("run", help="folder of a run or of a campaign, under way or finished")
    parser.add_argument("--port", type=int, default=0, help="port on this machine; any free one unless given")
    parser.add_argument("--browser", action="store_true", help="open the page in a browser")


def run(args: argparse.Namespace) -> int:
    """Serve the page of a folder until Ctrl-C, then 0."""
    with make_server(Path(args.run), args.port) as serving:
        address = f"http://{LOCAL_HOST}:{serving.server_address[1]}/"
        print(f"{args.run} at {address} (Ctrl-C ends it)", flush=True)
        if args.browser:
            import webbrowser

            webbrowser.open(address)
        try:
            with treat_sigterm_as_interrupt():
                serving.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            return 0
    return 0


class PageServer(ThreadingHTTPServer):
    """A thread for each request, so many at once; what comes slowly is dropped, the oldest first where it is full."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, page: Callable[..., Page]) -> None:
        """Listen on a port of this machine alone, 0 for any free one; page makes the handler of a request."""
        self._open: dict[Any, None] = {}  # sockets, the oldest first
        self._changing = threading.Lock()
        super().__init__((LOCAL_HOST, port), page)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own; where so many are open, the oldest ends for it."""
        with self._changing:
            if len(self._open) >= MOST_REQUESTS:
                oldest = next(iter(self._open))
                del self._open[oldest]
                with suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)  # its thread reads the end of the request
            self._open[request] = None
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer in this thread, then make room for another request."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._changing:
                self._open.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a client that went away is no event."""


def make_server(folder: Path, port: int = 0) -> PageServer:
    """A server of the page and its numbers, on this machine alone; it reads the folder and writes nothing.

    A port that is taken, and a folder without a run or campaign, are errors.
    """
    try:
        return PageServer(port, partial(Page, make_follower(folder.absolute())))
    except (OSError, OverflowError) as error:
        raise InvalidInput(f"port {port} cannot be used: {getattr(error, 'strerror', None) or error}") from error


class Follower:
    """Tells the present state of a folder; one in which nothing has changed is not read again.

    However many clients ask, one of them reads.
    """

    def __init__(self, folder: Path, read_status: Callable[[Path], dict[str, Any]]) -> None:
        """Nothing is read before the first call; read_status(folder) gives a state for JSON."""
        self.folder, self._read_status = folder, read_status
        self._reading = threading.Lock()
        self._cached: tuple[Any, float, dict[str, Any]] = None, 0.0, {}

    def __call__(self) -> dict[str, Any]:
        """The state, read again where a file has changed; `quiet` grows with the time since then."""
        with self._reading:
            now = time.monotonic()
            mark = _file_stamps(self.folder)
            if mark != self._cached[0]:
                self._cached = mark, now, to_json_types(self._read_status(self.folder))
            _, at, told = self._cached
        return told if told["quiet"] is None else told | {"quiet": told["quiet"] + now - at}


def _file_stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """Time of change (ns) and size of each file of a folder, by name; one that has just gone is left out."""
    found = {}
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            now = path.stat()
            found[path.name] = now.st_mtime_ns, now.st_size
    return found


def make_follower(folder: Path) -> Follower:
    """What follows a folder: as a run's where it has run.json, else as a campaign's; an error where it is neither."""
    if read_run_json(folder) is not None:
        from meco.commands.run_status import read_run_status

        return Follower(folder, read_run_status)
    from meco.bench.run.campaign_folder import find_packed, has_store

    if has_store(folder) or find_packed(folder) is not None:
        from meco.commands.campaign_status import read_campaign_status

        return Follower(folder, read_campaign_status)
    raise InvalidInput(f"{folder} is not the folder of a run or a campaign: it has neither run.json nor results")


class Page(BaseHTTPRequestHandler):
    """The page at /, what it shows at /status; nothing else, and nothing for another host's pages."""

    timeout = REQUEST_SECONDS  # of the socket: StreamRequestHandler sets it

    def __init__(self, read_status: Callable[[], dict[str, Any]], *given: object) -> None:
        self.read_status = read_status
        super().__init__(*given)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        """Answer with the page, its files or the status, to this machine alone."""
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or not OWN_HOST.fullmatch(hosts[0]):  # a name of another site, turned to this machine
            return self._send(403, "text/plain", b"for this machine alone")
        if self.path in PAGE:
            name, kind = PAGE[self.path]
            return self._send(200, kind, files("meco.commands").joinpath(name).read_bytes())
        if self.path != "/status":
            return self._send(404, "text/plain", b"there is nothing here")
        try:
            found, status = self.read_status(), 200
        except (MecoError, OSError) as error:
            found, status = {"error": str(error)}, 503
        return self._send(status, "application/json", json.dumps(found, allow_nan=False).encode())

    def _send(self, status: int, kind: str, content: bytes) -> None:
        """Send one whole answer, never cached."""
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", CONTENT_POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the terminal is the run's."""
