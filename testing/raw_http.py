"""A client below HTTP: bytes as they are, pauses between them, resets; and what the server made of it."""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

_STATUS_LINE = re.compile(rb"HTTP/1\.[01] (\d{3}) ")


@dataclass(frozen=True)
class Reply:
    """The bytes that came back, and whether the server had closed the connection by then."""

    content: bytes
    closed: bool

    @property
    def statuses(self) -> list[int]:
        """The status of each answer on the connection, interim ones (100) left out."""
        codes = [int(code) for code in _STATUS_LINE.findall(self.content)]
        return [code for code in codes if code >= 200]


def send(base_url: str, *parts: bytes | float, patience: float = 10.0, shut: bool = False) -> Reply:
    """Send each part as it is, waiting where a part is a number of seconds, and read until the server closes.

    `patience` is how many seconds of silence end the reading; `shut` closes our half after the last part.
    """
    address = urlsplit(base_url)
    content, closed = b"", False
    with socket.create_connection((address.hostname or "", address.port or 80)) as connection:
        connection.settimeout(patience)
        # A server that has refused may close while we are still sending.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for part in parts:
                if isinstance(part, bytes):
                    connection.sendall(part)
                else:
                    time.sleep(part)
            if shut:
                connection.shutdown(socket.SHUT_WR)
        try:
            while chunk := connection.recv(65_536):
                content += chunk
            closed = True
        except TimeoutError:
            closed = False
        except ConnectionResetError:
            closed = True
    return Reply(content, closed)


def send_and_reset(base_url: str, content: bytes) -> None:
    """Send, and break the connection off without a word (RST)."""
    address = urlsplit(base_url)
    connection = socket.create_connection((address.hostname or "", address.port or 80))
    connection.sendall(content)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
