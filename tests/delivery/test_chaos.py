"""One attempt against a receiver that misbehaves, over real sockets: each fault, and what it is taken for.

The numbers are those of the table of faults that `test_faults.py` checks to be whole.
"""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from kova_auto.core.delivery.format import Rendered
from kova_auto.core.delivery.outcome import AttemptOutcome as Is
from kova_auto.core.delivery.target import FormatName
from kova_auto.net.resolver import NameNotFoundError
from tests.delivery.attempts import ID, LONG_S, NOW, SOON_S, attempt
from tests.support.chaos import (
    NO_BODY,
    OK,
    Fault,
    Names,
    answers,
    blackhole,
    chaos,
    closes,
    drips,
    floods,
    hangs,
    refuses_early,
    resets,
    says,
)

HEAD = b"HTTP/1.1 200 OK\r\n"
LOGIN = b"<!DOCTYPE html><title>Sign in</title>"
LARGE = Rendered(b"x" * 20_000_000)


@dataclass(frozen=True)
class Case:
    """Say what an attempt against a fault is taken for.

    Attributes:
        chat: The same at a receiver whose body is part of its answer; None where that is no other.
    """

    name: str
    fault: Fault
    outcome: Is
    chat: Is | None = None
    timeout_s: float = LONG_S
    detail: str = ""


CASES = (
    Case("8 reads and closes", closes(), Is.AMBIGUOUS),
    Case("9 reads and breaks off", resets(), Is.AMBIGUOUS),
    Case("10 never answers", hangs(), Is.AMBIGUOUS, timeout_s=SOON_S, detail="no whole answer within 1 s"),
    Case("11 drips its head", drips(b"HTTP/1.1 200 ", b"x"), Is.AMBIGUOUS, timeout_s=SOON_S),
    Case("12 endless 102", drips(b"", b"HTTP/1.1 102 P\r\n\r\n", 0.001), Is.AMBIGUOUS, timeout_s=SOON_S),
    Case("12 endless 103", drips(b"", b"HTTP/1.1 103 E\r\nlink: </a>\r\n\r\n", 0.001), Is.AMBIGUOUS, timeout_s=SOON_S),
    Case("13 drips its body", drips(HEAD + b"content-length: 999\r\n\r\n", b"o"), Is.DELIVERED, Is.AMBIGUOUS, SOON_S),
    Case("14 breaks off in its body", resets(after=HEAD + b"content-length: 9\r\n\r\nok"), Is.DELIVERED, Is.AMBIGUOUS),
    Case("14 a short body", says(HEAD + b"content-length: 9\r\n\r\nok"), Is.DELIVERED, Is.AMBIGUOUS),
    Case("14 a broken chunk", says(HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\nok"), Is.DELIVERED, Is.AMBIGUOUS),
    Case("14 no last chunk", says(HEAD + b"transfer-encoding: chunked\r\n\r\n2\r\nok\r\n"), Is.DELIVERED, Is.AMBIGUOUS),
    Case("18 a login page", answers(200, LOGIN), Is.DELIVERED, Is.BAD_ENDPOINT, detail="with a web page"),
    Case("19 ok is false", answers(200, b'{"ok":false}'), Is.DELIVERED, Is.BAD_ENDPOINT),
    Case("19 no_text", answers(400, b"no_text"), Is.BAD_PAYLOAD),
    Case("20 ok and a line end", answers(200, b"ok\n"), Is.DELIVERED, Is.DELIVERED),
    Case("20 OK in capitals", answers(200, b"OK"), Is.DELIVERED, Is.AMBIGUOUS),
    Case("20 ok behind a mark", answers(200, b"\xef\xbb\xbfok"), Is.DELIVERED, Is.AMBIGUOUS),
    Case("23 401", answers(401), Is.BAD_ENDPOINT),
    Case("23 403", answers(403, b"action_prohibited"), Is.BAD_ENDPOINT),
    Case("23 404", answers(404, b"no_service"), Is.BAD_ENDPOINT),
    Case("24 410", answers(410), Is.BAD_ENDPOINT),
    *(Case(f"25 {status}", answers(status), Is.SERVER_ERROR) for status in (408, 425, 500, 502, 503, 504, 520, 524)),
    Case("27 throttled", answers(429), Is.THROTTLED),
    Case("29 not for two days", answers(503, b"", b"retry-after: 172800"), Is.THROTTLED),
    Case("33 a long line", says(HEAD + b"x: " + b"y" * 200_000 + b"\r\n\r\n"), Is.AMBIGUOUS),
    Case("33 a NUL in a header", says(HEAD + b"x: a\0b\r\n" + NO_BODY + b"\r\n"), Is.AMBIGUOUS),
    Case("33 a bare CR in a header", says(HEAD + b"x: a\rb\r\n" + NO_BODY + b"\r\n"), Is.AMBIGUOUS),
    Case("34 two lengths", says(HEAD + NO_BODY + b"content-length: 9\r\n\r\n"), Is.AMBIGUOUS),
    Case("34 a negative length", says(HEAD + b"content-length: -1\r\n\r\n"), Is.AMBIGUOUS),
    Case("36 no length, HTTP/1.0", says(b"HTTP/1.0 200 OK\r\n\r\nok"), Is.DELIVERED),
    Case("36 a banner", says(b"SSH-2.0-OpenSSH_9.2\r\n"), Is.AMBIGUOUS),
    Case("36 TLS on a plain port", says(b"\x15\x03\x03\x00\x02\x02\x46"), Is.NOT_SENT, detail="https"),
    Case("37 099", says(b"HTTP/1.1 099 No\r\n" + NO_BODY + b"\r\n"), Is.AMBIGUOUS),
    Case("37 101", says(b"HTTP/1.1 101 Other\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"), Is.AMBIGUOUS),
    Case("37 999", answers(999), Is.SERVER_ERROR),
    Case("37 no reason", says(b"HTTP/1.1 200\r\n" + NO_BODY + b"\r\n"), Is.DELIVERED),
    Case("37 a reason in no alphabet", answers(500, reason=b"\xff\xfe\x1b[2J"), Is.SERVER_ERROR),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_fault_is_taken_for_what_it_is(case: Case) -> None:
    async with chaos(case.fault) as receiver:
        result = await attempt(receiver.url(), timeout_s=case.timeout_s)

    assert result.outcome is case.outcome, result
    assert case.detail in result.detail
    assert receiver.url() not in result.detail
    assert "\x1b" not in result.detail + result.excerpt


@pytest.mark.parametrize("case", [case for case in CASES if case.chat], ids=lambda case: case.name)
async def test_a_chat_s_body_is_part_of_its_answer(case: Case) -> None:
    async with chaos(case.fault) as receiver:
        result = await attempt(receiver.url(), FormatName.SLACK, timeout_s=case.timeout_s)

    assert result.outcome is case.chat, result


@pytest.mark.parametrize("status", [200, 201, 202, 204, 206, 299])
async def test_17_any_2xx_is_enough_for_a_generic_receiver(status: int) -> None:
    async with chaos(answers(status)) as receiver:
        assert (await attempt(receiver.url())).outcome is Is.DELIVERED


async def test_1_a_closed_port_has_nothing() -> None:
    async with chaos() as receiver:
        url = receiver.url()

    result = await attempt(url)

    assert (result.outcome, result.detail) == (Is.NOT_SENT, "no connection: connection refused")


async def test_2_a_port_that_neither_takes_nor_refuses_has_nothing() -> None:
    with blackhole() as port:
        result = await attempt(f"http://127.0.0.1:{port}/", timeout_s=SOON_S)

    assert result.outcome is Is.NOT_SENT


@pytest.mark.parametrize("fault", [closes(before=True), resets(before=True)], ids=["6 closes", "7 breaks off"])
async def test_a_connection_that_ends_at_once_leaves_open_whether_anything_arrived(fault: Fault) -> None:
    async with chaos(fault) as receiver:
        result = await attempt(receiver.url())

    assert result.outcome in {Is.AMBIGUOUS, Is.NOT_SENT}
    assert receiver.requests == []


async def test_3_a_name_that_is_not_known_has_nothing() -> None:
    names = Names({"ci.example.org": [NameNotFoundError("the name ci.example.org gave no address")]})

    result = await attempt("http://ci.example.org:8080/", names=names)

    assert (result.outcome, result.detail) == (Is.NOT_SENT, "the name ci.example.org gave no address")


async def test_3_a_slow_resolver_counts_against_the_deadline() -> None:
    result = await attempt("http://ci.example.org:8080/", names=Names(hangs=True), timeout_s=SOON_S)

    assert result.outcome is Is.NOT_SENT


@pytest.mark.parametrize(
    ("found", "outcome"),
    [(["10.0.0.5"], Is.POLICY_BLOCK), (["93.184.216.34", "10.0.0.5"], Is.POLICY_BLOCK), (["127.0.0.1"], Is.DELIVERED)],
    ids=["private", "mixed", "allowed"],
)
async def test_4_what_a_name_answers_at_the_connection_decides(found: list[str], outcome: Is) -> None:
    async with chaos(OK) as receiver:
        names = Names({"ci.example.org": [found, ["127.0.0.1"]]})

        result = await attempt(receiver.url(host="ci.example.org"), names=names)

    assert result.outcome is outcome
    assert names.asked == ["ci.example.org"]  # Once: what was checked is what was connected to.


@pytest.mark.parametrize("found", [["::1", "127.0.0.1"], ["127.0.0.2", "127.0.0.1"]], ids=["AAAA dead", "first dead"])
async def test_5_a_dead_address_is_followed_by_the_next(found: list[str]) -> None:
    async with chaos(OK) as receiver:
        result = await attempt(receiver.url(host="ci.example.org"), names=Names({"ci.example.org": [found]}))

    assert result.outcome is Is.DELIVERED


async def test_9_one_that_acts_and_breaks_off_sees_the_same_id_again() -> None:
    async with chaos(resets(), OK) as receiver:
        first = await attempt(receiver.url())
        second = await attempt(receiver.url(), now=NOW + timedelta(seconds=5))

    assert (first.outcome, second.outcome) == (Is.AMBIGUOUS, Is.DELIVERED)
    assert receiver.ids == [ID, ID]
    stamps = [int(request.header("webhook-timestamp")) for request in receiver.requests]
    assert stamps[1] - stamps[0] == 5


def open_sockets() -> set[str]:
    """Return those that this process has, none where the system does not say."""
    place, found = Path("/proc/self/fd"), set[str]()
    for entry in place.iterdir() if place.exists() else ():
        with suppress(OSError):
            found |= {to for to in (str(entry.readlink()),) if to.startswith("socket:")}
    return found


async def test_10_receivers_that_never_answer_leave_no_socket_behind() -> None:
    async with chaos(hangs()) as receiver:
        before = open_sockets()
        for _ in range(5):
            await attempt(receiver.url(), timeout_s=0.05)
        after = open_sockets()

    assert len(after - before) <= 5  # The receiver's own ends of the five, which it has not read the end of.


async def test_15_one_that_never_reads_holds_nobody_up() -> None:
    async with chaos(hangs(reads=False)) as receiver:
        result = await attempt(receiver.url(), what=LARGE, timeout_s=SOON_S)

    assert result.outcome is Is.AMBIGUOUS


async def test_16_an_early_refusal_of_a_large_body_is_read_or_in_doubt() -> None:
    refusal = refuses_early(b"HTTP/1.1 413 Content Too Large\r\n" + NO_BODY + b"connection: close\r\n\r\n")
    async with chaos(refusal) as receiver:
        result = await attempt(receiver.url(), what=LARGE)

    assert result.outcome in {Is.BAD_PAYLOAD, Is.AMBIGUOUS}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "to",
    ["/other", "http://127.0.0.1:{other}/x", "http://169.254.169.254/latest", "https://example.org", "::::", "/"],
    ids=["path", "host", "metadata", "scheme", "nonsense", "loop"],
)
async def test_21_a_redirect_is_not_followed(status: int, to: str) -> None:
    async with chaos(OK) as other, chaos() as receiver:
        receiver.script(answers(status, b"", b"location: " + to.format(other=other.port).encode()))
        result = await attempt(receiver.url())

    assert result.outcome is Is.REDIRECTED
    assert (receiver.connections, other.connections) == (1, 0)


@pytest.mark.parametrize(
    ("said", "waits_s"),
    [
        ("30", 30.0),
        ("0", 0.0),
        ("Tue, 01 Dec 2026 07:02:00 GMT", 120.0),
        ("Tue, 01 Dec 2026 06:00:00 GMT", 0.0),
        ("1.5", None),
        ("1e9", None),
        ("-5", None),
        ("30s", None),
        ("NaN", None),
        ("30, 60", None),
        ("100000000000000000000", 1e11),
        ("\N{ARABIC-INDIC DIGIT THREE}", None),
        ("soon", None),
    ],
)
async def test_27_how_long_a_receiver_asks_to_wait(said: str, waits_s: float | None) -> None:
    async with chaos(answers(429, b"", b"retry-after: " + said.encode())) as receiver:
        result = await attempt(receiver.url())

    assert (result.outcome, result.retry_after_s) == (
        Is.THROTTLED,
        pytest.approx(waits_s, rel=1) if waits_s else waits_s,
    )


@contextmanager
def taking_little() -> Iterator[None]:
    """Hold that at no moment of the block more memory was taken than a few megabytes, whatever was there before."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        yield
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most - before < 20_000_000


@pytest.mark.parametrize(
    "head", [b"content-length: 300000000\r\n\r\n", b"\r\n"], ids=["as long as it said", "without an end"]
)
async def test_31_no_more_of_an_answer_is_read_than_is_kept(head: bytes) -> None:
    with taking_little():
        async with chaos(floods(HEAD + head, b"x" * 65_536, 4600)) as receiver:
            result = await attempt(receiver.url())

    assert result.outcome is Is.DELIVERED
    assert len(result.excerpt) <= 4096  # Half of it is kept, once secrets are taken out.


BOMB = gzip.compress(b"\0" * 50_000_000)


@pytest.mark.parametrize("label", [b"gzip", b"br", b"zstd", b"gzip, gzip", b"deflate"])
async def test_32_a_compressed_answer_is_not_unpacked(label: bytes) -> None:
    with taking_little():
        async with chaos(answers(200, BOMB, b"content-encoding: " + label)) as receiver:
            result = await attempt(receiver.url())

    assert result.outcome is Is.DELIVERED


@pytest.mark.parametrize(
    "lines",
    [b"".join(b"x-%d: y\r\n" % number for number in range(20_000)), b"x: a\r\n folded\r\n"],
    ids=["20 000 headers", "a folded one"],
)
async def test_33_odd_headers_break_nothing(lines: bytes) -> None:
    async with chaos(says(HEAD + lines + NO_BODY + b"\r\n")) as receiver:
        result = await attempt(receiver.url())

    assert result.outcome in {Is.DELIVERED, Is.AMBIGUOUS}


@pytest.mark.parametrize(
    "lines",
    [b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", b"content-length: 99\r\n\r\nshort"],
    ids=["both lengths", "beyond the data"],
)
async def test_34_lengths_that_contradict_each_other_never_hang(lines: bytes) -> None:
    async with chaos(says(HEAD + lines)) as receiver:
        result = await attempt(receiver.url(), timeout_s=60)

    assert result.outcome in {Is.DELIVERED, Is.AMBIGUOUS}


async def test_35_bytes_behind_an_answer_are_not_the_next_one() -> None:
    planted = b"HTTP/1.1 500 Evil\r\n" + NO_BODY + b"\r\n"
    async with chaos(says(HEAD + NO_BODY + b"\r\n" + planted), answers(202)) as receiver:
        first, second = await attempt(receiver.url()), await attempt(receiver.url())

    assert (first.status, second.status, receiver.connections) == (200, 202, 2)


async def test_38_what_an_answer_wants_to_be_remembered_is_not() -> None:
    wishes = (
        b"set-cookie: a=b",
        b"strict-transport-security: max-age=9",
        b'alt-svc: h3=":1"',
        b"link: </a>; rel=preload",
    )
    async with chaos(answers(200, b"", *wishes), OK) as receiver:
        await attempt(receiver.url())
        await attempt(receiver.url())

    first, second = receiver.requests
    assert (first.head, first.body, receiver.connections) == (second.head, second.body, 2)


async def test_41_what_an_answer_says_is_kept_short_and_clean() -> None:
    nasty = b"\xff\xfe\x1b[2J\xe2\x80\xaegpj.exe\x00" + b"y" * 1_000_000
    async with chaos(answers(500, nasty)) as receiver:
        result = await attempt(receiver.url())

    assert len(result.excerpt) <= 4096  # Half of it is kept, once secrets are taken out.
    assert result.excerpt.isprintable()
    assert "\u202e" not in result.excerpt


async def test_42_an_answer_that_echoes_our_secrets_is_not_shown() -> None:
    echo = answers(500, b"no such hook: http://127.0.0.1/hook?token=s3cr3t-canary")
    async with chaos() as receiver:
        url = receiver.script(echo, path="/hook?token=s3cr3t-canary")
        result = await attempt(url)

    assert "s3cr3t-canary" not in repr(result)
    assert "s3cr3t-canary" not in result.detail


async def test_51_nothing_of_the_environment_has_a_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async with chaos(OK) as proxy, chaos(OK) as receiver:
        (tmp_path / ".netrc").write_text("machine 127.0.0.1 login a password b\n")
        for name in ("http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url())
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none"))

        result = await attempt(receiver.url())

    assert (result.outcome, proxy.connections) == (Is.DELIVERED, 0)
    assert receiver.requests[0].header("authorization") == ""
    assert not (tmp_path / "keys").exists()
