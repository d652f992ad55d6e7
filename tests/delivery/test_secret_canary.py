"""A secret in prompt, tool output, file name, error text and job name: it is in nothing that leaves, is logged or kept.

A whole house runs a job that says all it knows to an endpoint of each format; a receiver keeps what came, in its rich
and, being refused, in its plain form.
"""

from __future__ import annotations

import base64
import json
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, quote_plus, unquote_to_bytes

import pytest

from kova_auto.app.house import House
from kova_auto.app.serving import _book, _scheduler
from kova_auto.app.vault import RedactingFilter
from kova_auto.core.delivery.format import Carrier
from kova_auto.core.delivery.needs import NEEDS, Want
from kova_auto.core.delivery.payload import FORMATS
from kova_auto.core.delivery.signature import spell_secret
from kova_auto.core.delivery.target import OptionValue
from kova_auto.core.errors import JobFileError
from kova_auto.core.ids import RunId
from kova_auto.delivery.receiver import Receiver
from kova_auto.engine.dispatch import Advanced
from tests.app.houses import UNCONFINED, Home, id_of
from tests.core.delivery.kind import kind_of
from tests.doubles.clock import HandClock
from tests.llm.chat_stream import DONE, calls, delta, fragment, sse
from tests.llm.fault_server import Answer, serving, streams

JOB_ENV = "canary-of-the-job/0123456789?&="
PATH_SAFE = "canary-of-a-file-0123456789"
ENDPOINT = "canary-of-an-endpoint-0123456789"
ADDRESS = "canary-of-an-address-0123456789"
SIGNING = base64.b64encode(b"canary-of-a-signature-0123456789").decode()
OWN = {ENDPOINT, ADDRESS, SIGNING}
"""What lets us in, or signs: it is in a request of its own endpoint, and nowhere else."""

CANARIES = (JOB_ENV, PATH_SAFE, ENDPOINT, ADDRESS, SIGNING)
ON_LOOPBACK = 'allow_http = true\nallow_cidrs = ["127.0.0.0/8"]\n'
JOB = """
[env]
TOKEN = { env = "JOB_ENV" }
FILE = { env = "PATH_SAFE" }
[inputs]
title = { default = "x", max_length = 5000 }
commit = { default = "6dcb09b5b57875f334f61aebed695e2e4193db5e" }
"""
COMMAND = """
printf '%s ' "$TOKEN" "$FILE"; printf 'user:%s' "$TOKEN" | base64 -w0; printf '%s' "$FILE" > "$FILE.txt"
echo "no such file: $FILE" >&2; exit 3
"""


def coded(canary: str) -> list[str]:
    """Return Base64 of a secret behind none, one and two other bytes."""
    return [base64.b64encode(b"x" * shift + canary.encode()).decode() for shift in range(3)]


def forms(canary: str) -> set[str]:
    """Return how a secret looks on its way: as it is, in JSON, in addresses, in Base64 at each place of three."""
    inner = {text[(0, 2, 3)[shift] : -4] for shift, text in enumerate(coded(canary))}
    plain = {canary, json.dumps(canary)[1:-1], quote(canary), quote(canary, safe=""), quote_plus(canary)}
    lower = {re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), text) for text in plain}
    return plain | lower | inner | {text.replace("+", "-").replace("/", "_") for text in inner}


def songs(text: str) -> set[str]:
    """Return the canaries that a text holds in any form, also behind one more layer of an address's encoding."""
    both = text + unquote_to_bytes(text.replace("+", " ")).decode("utf-8", "replace")
    return {canary for canary in CANARIES if any(form in both for form in forms(canary))}


def said() -> str:
    """Return all forms of all secrets of the job, as a model may write them, one of them in pieces of markup."""
    known = [form for canary in (JOB_ENV, PATH_SAFE) for form in (canary, quote(canary, safe=""), *coded(canary))]
    pieces = f"**{PATH_SAFE[:9]}**{PATH_SAFE[9:]} {PATH_SAFE[:9]}\u202e{PATH_SAFE[9:]} `{PATH_SAFE}`"
    return " ".join((*known, pieces, f"[{PATH_SAFE}](https://e.org/{PATH_SAFE})"))


def replies() -> tuple[Answer, ...]:
    """Return what a model says that knows all of it: it reads, writes, runs and fails, and tells at each turn."""
    asked = (
        ("bash", {"command": COMMAND}),
        ("write", {"file_path": f"{PATH_SAFE}.md", "content": "made"}),
        ("write", {"file_path": "made.md", "content": said()}),
        ("read", {"file_path": f"no-{PATH_SAFE}"}),
        (f"tool_{PATH_SAFE}", {"said": said()}),
    )
    calls_of = [
        fragment(json.dumps(args), index=index, id=f"call_{index}", name=name)
        for index, (name, args) in enumerate(asked)
    ]
    return (
        streams(sse(delta(content=said()), calls(*calls_of), delta("tool_calls"), DONE)),
        streams(sse(delta(content=said()), delta("stop"), DONE)),
    )


def toml(table: Mapping[str, OptionValue]) -> str:
    """Return a table of texts in one line of TOML."""
    return "{ " + ", ".join(f"{key} = {_value(value)}" for key, value in table.items()) + " }"


def _value(value: OptionValue) -> str:
    return json.dumps(value) if isinstance(value, str) else toml(value)


def endpoints() -> Iterator[tuple[str, str]]:
    """Yield name and table of an endpoint for each format that is sent by ourselves, with each set of its options."""
    for name in (name for name in FORMATS if FORMATS[name].carrier is Carrier.HTTP):
        for number, options in enumerate(kind_of(name).options):
            needs = NEEDS[name]
            keys = {key: _value(value) for key, value in options.items()}
            keys |= {"secret": '{ env = "SIGNING" }'} if needs.secret is not Want.NONE else {}
            keys |= {"token": '{ env = "ENDPOINT" }'} if needs.token is not Want.NONE else {}
            lines = "".join(f"{key} = {value}\n" for key, value in keys.items())
            yield (
                f"{name}-{number}",
                f'format = "{name}"\nurl = {{ env = "ADDRESS" }}\n{ON_LOOPBACK}{lines}',
            )


@contextmanager
def logged(house: House) -> Iterator[list[str]]:
    """Collect what would be written to a log at its most talkative, as the service sets it up."""
    lines: list[str] = []

    class Collects(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    handler, root = Collects(), logging.getLogger()
    handler.addFilter(RedactingFilter(house.vault))
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def kept(home: Home) -> str:
    """Return every byte that is kept: database, log ahead, spools, blobs."""
    files = [path for base in (".local", ".cache") for path in (home.path / base).rglob("*") if path.is_file()]
    assert any(path.suffix == ".db" for path in files)
    return "\n".join(path.read_bytes().decode("latin-1") for path in files)


def a_home(path: Path, url: str, port: int) -> Home:
    environ = {
        "JOB_ENV": JOB_ENV, "PATH_SAFE": PATH_SAFE, "ENDPOINT": ENDPOINT, "ADDRESS": f"{url}{ADDRESS}",
        "SIGNING": spell_secret(base64.b64decode(SIGNING)),
    }  # fmt: skip
    home = Home(path, environ)
    provider = f'[providers.here]\nprotocol = "openai-chat"\nbase_url = "http://127.0.0.1:{port}/v1"\n'
    home.settings(provider + "".join(f"[endpoints.{name}]\n{table}" for name, table in endpoints()))
    return home


def a_job(home: Home, more: str = "") -> None:
    """Write the job, which knows two secrets by right and one by mistake: its author has written it down."""
    told = "".join(f'[[notify]]\nendpoint = "{name}"\n' for name, _ in endpoints())
    keys = f'model = "here/m-1"\n{UNCONFINED}{JOB}{more}{told}'
    path = home.job("knows", keys.replace("[permissions]", f'description = "Knows {PATH_SAFE}"\n[permissions]'), None)
    path.write_text(path.read_text().replace("Look.", f"Look, and never say {PATH_SAFE}."))


async def deliver(house: House, clock: HandClock, run_id: RunId) -> None:
    """Make the first attempt of each duty, and the one that follows where it was refused, each receiver in its pace."""
    for _ in range(len(FORMATS) * 6):
        await house.courier.deliver_due(only=run_id)
        clock.later(10)


async def test_no_form_of_a_secret_is_sent_logged_or_kept(tmp_path: Path) -> None:
    clock = HandClock()
    async with serving(*replies()) as model, Receiver((), clock.now) as receiver:
        home = a_home(tmp_path, receiver.url, model.port)
        a_job(home)
        async with home.house(clock) as house:
            with logged(house) as lines:
                await house.control.request(home.ask("knows", inputs={"title": said()}))
                assert await house.engine.advance(id_of("knows")) is Advanced.DONE
                await deliver(house, clock, id_of("knows"))
                rows = await house.store.views.deliveries(run_id=id_of("knows"))
            alive = kept(home)
        sent = list(receiver.received)

    assert len(model.requests) == 2
    assert {row.endpoint for row in rows} == {name for name, _ in endpoints()}
    assert len(sent) > len(rows)
    assert "[redacted:env:JOB_ENV]" in alive
    assert any(b"[redacted:env:PATH_SAFE]" in one.body for one in sent)
    for number, one in enumerate(sent):
        text = one.body.decode("utf-8", "replace")
        assert (number, one.path, songs(text) - OWN) == (number, one.path, set()), text[:3000]
        assert songs(json.dumps(dict(one.headers))) <= OWN
    assert [line for line in lines if songs(line)] == []
    assert songs(alive) == set()
    assert songs(kept(home)) == set()
    assert songs("\n".join(row.model_dump_json() for row in rows)) == set()


async def test_a_request_for_approval_shows_no_secret_of_the_call(tmp_path: Path) -> None:
    clock = HandClock()
    asked = fragment(json.dumps({"file_path": f"{PATH_SAFE}.md", "content": said()}), index=0, id="a", name="write")
    reply = streams(sse(delta(content=said()), calls(asked), delta("tool_calls"), DONE))
    async with serving(reply) as model, Receiver((), clock.now) as receiver:
        home = a_home(tmp_path, receiver.url, model.port)
        names = ", ".join(f'"{name}"' for name, _ in endpoints())
        home.job("asks", f'model = "here/m-1"\n{JOB}[approval]\nwhen_needed = "suspend"\nnotify = [{names}]\n', None)
        async with home.house(clock) as house:
            with logged(house) as lines:
                await house.control.request(home.ask("asks"))
                assert await house.engine.advance(id_of("asks")) is Advanced.SUSPENDED
                await deliver(house, clock, id_of("asks"))
            alive = kept(home)
        sent = list(receiver.received)

    assert any(b"[redacted:env:PATH_SAFE]" in one.body for one in sent)
    texts = [one.body.decode("utf-8", "replace") for one in sent]
    assert [text for text in texts if songs(text) - OWN] == []
    assert [line for line in lines if songs(line)] == []
    assert songs(alive) == set()


@pytest.mark.parametrize("secret", [ENDPOINT, PATH_SAFE], ids=["of an endpoint", "of the job itself"])
async def test_a_job_whose_name_is_a_secret_is_neither_run_nor_kept(tmp_path: Path, secret: str) -> None:
    clock = HandClock()
    async with Receiver((), clock.now) as receiver:
        home = a_home(tmp_path, receiver.url, 9)
        env = '[env]\nFILE = { env = "PATH_SAFE" }\n'
        path = home.job(secret, f'schedule = {{ every = "1h" }}\n[[notify]]\nendpoint = "standard-0"\n{env}')
        async with home.house(clock) as house:
            with logged(house) as lines:
                with pytest.raises(JobFileError, match="a name without a secret in it") as caught:
                    await house.control.request(home.ask(secret))
                scheduler = _scheduler(house, _book(house))
                for _ in range(2):
                    await scheduler.tick()
                    clock.later(3600)
            alive = kept(home)

    assert caught.value.path == str(path)
    assert any("a name without a secret in it" in line for line in lines)
    assert [line for line in lines if songs(line)] == []
    assert songs(alive) == set()
    assert receiver.received == []
