"""A TLS end on loopback in front of a plain port, as the proxy before a server of Spark is.

`python -m integration_tests.servers.tls PORT` runs one until Ctrl-C, and says where it listens and
which certificate to trust.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import sys
import tempfile
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import trustme

from integration_tests.servers.programs import HOST, stay

_PROTOCOLS = ["h2", "http/1.1"]  # gRPC speaks the first alone
_PIECE = 1 << 16  # bytes


@dataclass(frozen=True)
class Tls:
    """A TLS end.

    Attributes:
        port: on this machine's loopback.
        authority: file with the certificate that clients have to trust.
    """

    port: int
    authority: Path

    @property
    def trusted(self) -> dict[str, str]:
        """Environment variables by which gRPC's and Python's own clients trust it."""
        file = str(self.authority)
        return {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": file, "SSL_CERT_FILE": file}


@contextmanager
def running(plain: int, names: Sequence[str] = ("localhost", HOST)) -> Generator[Tls]:
    """Run a TLS end with a new certificate, and a new authority that vouches for it.

    Args:
        plain: the port of the loopback to which everything goes in the clear.
        names: of the host, for which the certificate is.
    """
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(_PROTOCOLS)
    authority.issue_cert(*names).configure_cert(context)
    with tempfile.TemporaryDirectory(prefix="tls-") as folder, _loop() as loop:
        file = Path(folder) / "authority.pem"
        authority.cert_pem.write_to_path(str(file))
        listening = asyncio.start_server(partial(_join, plain), HOST, 0, ssl=context)
        server = asyncio.run_coroutine_threadsafe(listening, loop).result()
        try:
            yield Tls(server.sockets[0].getsockname()[1], file)
        finally:
            loop.call_soon_threadsafe(server.close)


@contextmanager
def _loop() -> Generator[asyncio.AbstractEventLoop]:
    """An event loop in a thread; what still runs in it at the end is cancelled."""
    loops: list[asyncio.AbstractEventLoop] = []
    begun, ended = threading.Event(), asyncio.Event()

    async def main() -> None:
        loops.append(asyncio.get_running_loop())
        begun.set()
        await ended.wait()

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    begun.wait()
    try:
        yield loops[0]
    finally:
        loops[0].call_soon_threadsafe(ended.set)
        thread.join()


async def _join(plain: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carry the bytes of one connection to the plain port, and back."""
    try:
        there, to_there = await asyncio.open_connection(HOST, plain)
    except OSError:
        writer.close()
        return
    with contextlib.suppress(asyncio.CancelledError):  # the end of `running`
        await asyncio.gather(_carry(reader, to_there), _carry(there, writer))


async def _carry(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Carry bytes one way, until an end is closed."""
    with contextlib.suppress(OSError), contextlib.closing(target):
        while piece := await source.read(_PIECE):
            target.write(piece)
            await target.drain()


if __name__ == "__main__":
    with running(int(sys.argv[1])) as end:
        print(f"TLS on {HOST}:{end.port}", *(f"{k}={v}" for k, v in end.trusted.items()), sep="\n")
        stay()
