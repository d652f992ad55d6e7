"""Pages are fetched for real here, from a server on loopback that is allowed in these tests only."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from kova_auto.core.approval.levels import Effect
from kova_auto.core.errors import ToolArgumentsError, ToolError, ToolFailedError, ToolTimeoutError
from kova_auto.core.message import ResultStatus
from kova_auto.core.net.http import FailureKind, HttpFailure, HttpRequest
from kova_auto.core.net.url import Egress
from kova_auto.core.tool import CallFacts
from kova_auto.tools.web_fetch import PUBLIC, WebFetchArguments, WebFetchTool
from tests.tools.tool_scenes import a_call, a_scene, play
from tests.tools.web_pages import LOOPBACK, a_fetcher, a_site, an_exchange, fetch, html, moved, says

PLAIN = "Content-Type: text/plain"


async def test_a_page_is_shown_as_markdown() -> None:
    page = html("<title>News</title><h1>Today</h1><p>All <b>well</b>, <a href='/more?x=1'>more</a>.</p>")
    async with a_site(page) as site:
        output = await fetch(site.url("/news?token=abc"))

    assert output.result.status is ResultStatus.OK
    assert output.result.text == (
        f"[200 OK, text/html, 86 bytes, {site.url('/news')}]\n\n"
        f"Title: News\n\n# Today\n\nAll **well**, [more]({site.url('/more?x=1')})."
    )


async def test_a_request_carries_no_more_than_it_must() -> None:
    async with a_site(says("x", PLAIN)) as site:
        await fetch(site.url("/a?b=c"))

    assert site.asked[0].split("\r\n") == [
        "GET /a?b=c HTTP/1.1",
        f"Host: site.example:{site.port}",
        "User-Agent: kova-auto/0.1.0",
        "Accept-Encoding: identity",
        "Connection: close",
        "Accept: text/html, text/markdown, text/plain, application/json;q=0.9, */*;q=0.5",
        "",
        "",
    ]


@pytest.mark.parametrize(
    "media",
    ["text/plain", "text/markdown; charset=utf-8", "application/json", "application/problem+json", "image/svg+xml"],
)
async def test_other_text_is_shown_as_it_is(media: str) -> None:
    async with a_site(says('{"a": "<b>"}', f"Content-Type: {media}")) as site:
        output = await fetch(site.url())

    assert output.result.text.endswith("bytes, " + site.url("/") + ']\n\n{"a": "<b>"}')


async def test_what_is_no_text_is_refused_with_its_type_and_size() -> None:
    async with a_site(says(b"%PDF-1.7", "Content-Type: application/pdf")) as site:
        with pytest.raises(ToolFailedError, match=r"^\[200 OK, application/pdf, 8 bytes, .*\]\nThis is no text: "):
            await fetch(site.url())


@pytest.mark.parametrize(
    ("body", "shown"), [(b"<!DOCTYPE html><p>a</p>", "a"), (b"just text", "just text"), (b"", "[the answer is empty]")]
)
async def test_what_has_no_type_is_known_by_its_beginning(body: bytes, shown: str) -> None:
    async with a_site(says(body)) as site:
        output = await fetch(site.url())

    assert (output.result.text.split("\n")[0].split(", ")[1], output.result.text.split("\n")[-1]) == ("no type", shown)


async def test_an_error_is_shown_as_one_with_its_text() -> None:
    async with a_site(html("<p>No such page</p>", status="404 Not Found")) as site:
        output = await fetch(site.url("/gone"))

    assert output.result.status is ResultStatus.ERROR
    assert output.result.text == f"[404 Not Found, text/html, 19 bytes, {site.url('/gone')}]\n\nNo such page"


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b"hello", mtime=0)),
        ("x-gzip", gzip.compress(b"hel", mtime=0) + gzip.compress(b"lo", mtime=0)),
        ("deflate", zlib.compress(b"hello")),
        ("deflate", zlib.compress(b"hello", wbits=-15)),
        ("GZIP, identity", gzip.compress(b"hello", mtime=0) + b"rubbish"),
    ],
)
async def test_a_compressed_answer_is_decompressed(encoding: str, body: bytes) -> None:
    async with a_site(says(body, PLAIN, f"Content-Encoding: {encoding}")) as site:
        output = await fetch(site.url())

    assert output.result.text == f"[200 OK, text/plain, 5 bytes, {site.url()}]\n\nhello"


@pytest.mark.parametrize(
    ("encoding", "body", "why"),
    [
        ("gzip", gzip.compress(bytes(6 << 20), mtime=0), "decompresses to more than 5242880 bytes: it was not read"),
        ("gzip", b"\x1f\x8bnot gzip", "is broken: it does not decompress"),
        ("br", b"x", "is compressed as br, which is not read"),
        (
            "gzip, gzip",
            gzip.compress(gzip.compress(b"x", mtime=0), mtime=0),
            "is compressed as gzip, gzip, which is not read",
        ),
    ],
)
async def test_what_cannot_be_decompressed_within_bounds_is_refused(encoding: str, body: bytes, why: str) -> None:
    async with a_site(says(body, PLAIN, f"Content-Encoding: {encoding}")) as site:
        with pytest.raises(ToolFailedError, match=why):
            await fetch(site.url())


async def test_only_so_much_is_read() -> None:
    async with a_site(says(b"a" * (6 << 20), PLAIN)) as site:
        output = await fetch(site.url())

    head, note, _, text = output.result.text.split("\n")
    assert (head, note, len(text)) == (
        f"[200 OK, text/plain, 5242880 bytes, {site.url()}]",
        "[only the first 5242880 bytes were read]",
        5242880,
    )


@pytest.mark.parametrize(
    "answer",
    [
        says("half", PLAIN, length=8),
        says(gzip.compress(b"half")[:-6], PLAIN, "Content-Encoding: gzip"),
        says(gzip.compress(b"half") + gzip.compress(b"") * 20, PLAIN, "Content-Encoding: gzip"),
    ],
)
async def test_an_answer_that_ends_too_early_is_shown_as_far_as_it_came(answer: bytes) -> None:
    async with a_site(answer) as site:
        output = await fetch(site.url())

    assert output.result.text.split("\n")[1:] == [
        "[the answer ended too early: what follows is not all of it]",
        "",
        "half",
    ]


@pytest.mark.parametrize(
    ("media", "body"),
    [
        ("text/plain", "café".encode()),
        ("text/plain; charset=iso-8859-1", "café".encode("latin-1")),
        ("text/plain; charset='windows-1252'", "café".encode("cp1252")),
        ("text/plain", "café".encode("utf-16")),
        ("text/plain; charset=punycode", "café".encode()),
        ("text/plain; charset=unheard-of", "café".encode()),
        ("application/xml", '<?xml version="1.0" encoding="latin-1"?>café'.encode("latin-1")),
        ("text/html", '<html><meta charset="latin-1">café'.encode("latin-1")),
        ("text/html", b'<html><meta http-equiv="x" content="text/html; charset=utf-16">caf\xc3\xa9'),
    ],
)
async def test_text_is_read_in_the_characters_it_is_written_in(media: str, body: bytes) -> None:
    async with a_site(says(body, f"Content-Type: {media}")) as site:
        output = await fetch(site.url())

    assert output.result.text.endswith("café")


async def test_a_redirect_on_the_same_host_is_followed() -> None:
    pages = {"/a": moved("/b?key=1", "301 Moved"), "/b": moved("c", "307 There"), "/c": says("here", PLAIN)}
    async with a_site(pages) as site:
        output = await fetch(site.url("/a"))

    assert output.result.text == f"[200 OK, text/plain, 4 bytes, {site.url('/c')}]\n\nhere"


@pytest.mark.parametrize(
    ("location", "told"),
    [
        (
            "https://other.example/new?secret=1#part",
            (
                r"^HTTP 302: this has moved to https://other\.example/new \(its query is left out here\)\. "
                r"Call web_fetch with the new address if it is still needed\.$"
            ),
        ),
        ("//site.example:8081/new", r"moved to http://site\.example:8081/new\. Call"),
        (
            "https://user:word@other.example/",
            "to where nothing is fetched: a URL must not carry a user name or password$",
        ),
        ("file:///etc/passwd", "to where nothing is fetched: wanted a URL that begins with https://$"),
        ("http://10.0.0.1/", "10.0.0.1 is or answers with a private address, which must not be connected to$"),
        ("http://[bad", "to where nothing is fetched: it is no address$"),
    ],
)
async def test_a_redirect_to_anywhere_else_is_told_and_not_followed(location: str, told: str) -> None:
    async with a_site(moved(location)) as site:
        with pytest.raises(ToolFailedError, match=told):
            await fetch(site.url())

    assert len(site.asked) == 1


async def test_redirects_without_an_end_are_given_up() -> None:
    async with a_site(moved("/")) as site:
        with pytest.raises(ToolFailedError, match=r"^site\.example redirected more than 5 times$"):
            await fetch(site.url())

    assert len(site.asked) == 6


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080/",
        "http://[::1]/",
        "http://169.254.169.254/latest/meta-data",
        "http://192.168.1.1/",
        "http://0x7f000001/",
        "ftp://site.example/",
        "https://user@site.example/",
        "site.example",
        "https://site.example/a b",
    ],
)
async def test_an_address_that_may_not_be_asked_is_never_judged(url: str) -> None:
    call = a_call("web_fetch", url=url)

    with pytest.raises(ToolArgumentsError) as caught:
        await a_fetcher(PUBLIC).facts(call, WebFetchArguments(url=url), a_scene(Path("/w")))
    assert "allow_cidrs" not in str(caught.value)


async def test_a_public_name_with_a_private_address_is_not_asked() -> None:
    async with a_site(says("secret", PLAIN)) as site:
        with pytest.raises(
            ToolFailedError,
            match=r"^site\.example is or answers with a loopback address, which must not be connected to$",
        ):
            await fetch(site.url(), WebFetchTool(an_exchange()))

    assert site.asked == []


async def test_judging_is_told_the_host() -> None:
    call = a_call("web_fetch", url="https://Docs.Example:8443/a?b")
    facts = await a_fetcher(Egress()).facts(call, WebFetchArguments.model_validate(call.args), a_scene(Path("/w")))

    assert facts == CallFacts(call, Effect.WEB_READ, host="docs.example")


class Failing:
    """Answer nothing, and keep what was asked."""

    def __init__(self, kind: FailureKind) -> None:
        self._kind = kind
        self.asked: list[HttpRequest] = []

    async def exchange(self, request: HttpRequest) -> HttpFailure:
        self.asked.append(request)
        return HttpFailure(self._kind, written=False, detail="what happened")


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (FailureKind.NAME, ToolFailedError),
        (FailureKind.CONNECT, ToolFailedError),
        (FailureKind.TLS, ToolFailedError),
        (FailureKind.LOST, ToolFailedError),
        (FailureKind.DEADLINE, ToolTimeoutError),
    ],
)
async def test_why_there_is_no_answer_is_told(kind: FailureKind, error: type[ToolError]) -> None:
    with pytest.raises(error, match=r"^site\.example: what happened$"):
        await fetch("https://site.example/", WebFetchTool(Failing(kind)))


async def test_the_time_left_to_the_run_limits_a_request() -> None:
    exchange = Failing(FailureKind.DEADLINE)
    with pytest.raises(ToolTimeoutError):
        await play(WebFetchTool(exchange), replace(a_scene(Path("/w")), left_s=20.0), url="https://site.example/")

    assert 10.0 < exchange.asked[0].deadline_s <= 20.0


async def no_text(_page: str, _base: str) -> None:
    """Stand for a page that keeps every parser busy."""


async def test_a_page_that_cannot_be_turned_into_text_is_shown_as_it_is() -> None:
    async with a_site(html("<p>a</p>")) as site:
        output = await fetch(site.url(), WebFetchTool(an_exchange(), LOOPBACK, no_text))

    assert output.result.text.split("\n")[1:] == [
        "[this page could not be turned into text: its source follows]",
        "",
        "<p>a</p>",
    ]


async def test_of_a_page_without_text_that_is_said() -> None:
    async with a_site(html("<script>x()</script>")) as site:
        output = await fetch(site.url())

    assert output.result.text.split("\n")[1:] == ["", "[the page holds no text]"]
