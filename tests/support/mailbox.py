"""A mail server for one test, on loopback: it takes mail, or answers as it was told to."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Self

GREETING = b"220 mailbox ESMTP\r\n"


@dataclass
class Mailbox:
    """Keep what was sent.

    Attributes:
        refusals: What it answers to a command instead of yes, by the command's first word.
        silent: It takes connections and says nothing.
    """

    refusals: dict[str, str] = field(default_factory=dict)
    silent: bool = False
    mails: list[EmailMessage] = field(default_factory=list)
    receivers: list[str] = field(default_factory=list)
    connections: int = 0

    async def __aenter__(self) -> Self:
        """Listen."""
        self._closing = asyncio.Event()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop listening."""
        self._closing.set()
        self._server.close()
        await self._server.wait_closed()

    def url(self) -> str:
        """Return its address as Apprise writes it."""
        port = self._server.sockets[0].getsockname()[1]
        return f"mailto://127.0.0.1:{port}/?from=kova@example.org&to=ann@example.org&mode=insecure"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            if self.silent:
                await self._closing.wait()
            else:
                await self._talk(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(GREETING)
        while line := await reader.readline():
            command = line[:4].decode("ascii", "replace").upper()
            if refusal := self.refusals.get(command.strip()):
                writer.write(f"{refusal}\r\n".encode())
            elif command == "DATA":
                writer.write(b"354 go on\r\n")
                self.mails.append(message_from_bytes(await self._mail(reader), policy=policy.default))
                writer.write(f"{self.refusals.get('.', '250 taken')}\r\n".encode())
            elif command == "QUIT":
                writer.write(b"221 bye\r\n")
                return
            else:
                if command == "RCPT":
                    self.receivers.append(line.partition(b"<")[2].partition(b">")[0].decode())
                writer.write(b"250 mailbox\r\n")

    @staticmethod
    async def _mail(reader: asyncio.StreamReader) -> bytes:
        lines = []
        while (line := await reader.readline()) not in {b".\r\n", b""}:
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        return b"".join(lines)
