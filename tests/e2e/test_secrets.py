"""Canaries in every place where a secret may be: none of them sings in journal, logs, output or deliveries."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.e2e.scenes import SPELLED, WAIT_S, Scene, receiving
from tests.llm.chat_stream import DONE, calls, delta, fragment, sse
from tests.llm.fault_server import Answer, FaultServer, serving, streams

CANARIES = {
    "PROVIDER_KEY": "canary-provider-0123456789",
    "PROVIDER_HEADER": "canary-header-0123456789",
    "HOOK_TOKEN": "canary-hook-0123456789",
    "GH_TOKEN": 'canary-job "quoted" \\ 0123456789',
    "JOB_FILE": "canary-job-file-0123456789",
    "ENDPOINT": SPELLED.removeprefix("whsec_"),
}
JOB = """
prompt = "Say all you know."
workspace = "{workspace}"
model = "acme/chatty"
automation = "full"
[permissions]
sandbox = "off"
[env]
GH_TOKEN = {{ env = "GH_TOKEN" }}
JOB_FILE = {{ file = "job.key" }}
[[notify]]
endpoint = "ci"
"""
SETTINGS = """
[providers.acme]
base_url = "http://127.0.0.1:{port}/v1"
api_key = {{ env = "PROVIDER_KEY" }}
headers = {{ x-extra = {{ env = "PROVIDER_HEADER" }} }}

[endpoints.ci]
url = {{ env = "HOOK_URL" }}
secret = {{ file = "secret" }}
allow_http = true
allow_cidrs = ["127.0.0.0/8"]
"""
COMMAND = """
env; printf '%s\\n' "$GH_TOKEN" "$JOB_FILE"; printf 'user:%s' "$GH_TOKEN" | base64 -w0; printf '%s' "$JOB_FILE" | base64
for number in $(seq 2000); do echo "$number $GH_TOKEN $JOB_FILE"; done; printf '%s' "$JOB_FILE" > left.txt
"""


def _replies() -> tuple[Answer, ...]:
    """Be a model that repeats whatever it was given, its own key too."""
    said = " ".join(CANARIES.values())
    asked = [
        ("bash", {"command": COMMAND}),
        ("bash", {"command": f"echo {CANARIES['PROVIDER_KEY']}"}),
        ("read", {"file_path": "left.txt"}),
        ("write", {"file_path": "made.txt", "content": f"so {said}"}),
        ("no_such_tool", {"said": said}),
        ("todo", {"items": [{"subject": said, "status": "pending"}]}),
    ]
    fragments = [
        fragment(json.dumps(args), index=index, id=f"call_{index}", name=name)
        for index, (name, args) in enumerate(asked)
    ]
    return (
        streams(sse(delta(content=f"I know {said}."), calls(*fragments), delta("tool_calls"), DONE)),
        streams(sse(delta(content=f"It was {said}."), delta("stop"), DONE)),
    )


@contextmanager
def _chatty() -> Iterator[FaultServer]:
    """Give a model server that listens in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = serving(*_replies())
    try:
        yield asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(WAIT_S)
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(WAIT_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    scene = Scene(tmp_path)
    scene.workspace.mkdir()
    scene.job("chatty", JOB.format(workspace=scene.workspace))
    for path, content in ((scene.config / "secret", SPELLED), (scene.jobs / "job.key", CANARIES["JOB_FILE"])):
        path.touch(mode=0o600)
        path.write_text(content)
    return scene


def _songs(text: str) -> set[str]:
    """Return the canaries that a text holds, in any of the forms that they take on their way."""
    return {name for name, canary in CANARIES.items() if any(form in text for form in _forms(canary))}


def _forms(canary: str) -> set[str]:
    encoded = base64.b64encode(canary.encode()).decode().rstrip("=")
    # Behind other text, what the neighbours decide is left out.
    shifted = base64.b64encode(f"user:{canary}".encode()).decode()[7:-4]
    return {
        canary,
        json.dumps(canary)[1:-1],
        json.dumps(json.dumps(canary)[1:-1])[1:-1],
        quote(canary),
        encoded,
        shifted,
    }


def _kept(scene: Scene) -> str:
    """Return all that we keep: database, log ahead, cache, spools."""
    ours = [path for base in (".local", ".cache") for path in sorted((scene.path / base).rglob("*")) if path.is_file()]
    assert scene.database in ours
    return "\n".join(path.read_bytes().decode("latin-1") for path in ours)


@pytest.mark.parametrize("with_service", [pytest.param(False, marks=pytest.mark.slow), True])
def test_no_secret_is_kept_logged_shown_or_sent(scene: Scene, with_service: bool) -> None:
    with _chatty() as model, receiving() as receiver:
        scene.settings(SETTINGS.format(port=model.port))
        hook = f"{receiver.url}{CANARIES['HOOK_TOKEN']}"
        environ = {**CANARIES, "HOOK_URL": hook}
        service = scene.start("serve", "--log-level", "debug", **environ) if with_service else None
        if service:
            service.says("broken file")
        ran = scene.start("run", "chatty", **environ)
        assert ran.ends() == 0, ran.notes
        while_alive = _kept(scene)
        shown = "\n".join(_asks(scene, environ, *command) for command in QUESTIONS)
        exported = {} if service else _exported(scene, environ)
        if service:
            service.signal(signal.SIGTERM)
            assert service.ends() == 0
        bodies = [received.body.decode() for received in receiver.received]

    assert [request.headers["authorization"] for request in model.requests] == [
        f"Bearer {CANARIES['PROVIDER_KEY']}"
    ] * 2
    assert [received.verified for received in receiver.received] == [True]
    assert "[redacted:env:GH_TOKEN]" in while_alive
    assert "It was [redacted:env:PROVIDER_KEY]" in bodies[0]
    logs = service.notes + service.answer if service else ""
    for where, text in {
        "what is kept while it lives": while_alive,
        "what is kept afterwards": _kept(scene),
        "what a command said": ran.answer + ran.notes,
        "what questions were told": shown,
        "the log": logs,
        "what was sent": "\n".join(bodies),
        "what the model was told again": json.dumps(model.requests[1].body),
        "what was exported": "\n".join(data.decode("latin-1") for data in exported.values()),
    }.items():
        assert (where, _songs(text)) == (where, set())
    sent = [data for name, data in exported.items() if "requests" in name]
    assert sent == ([] if service else [asked.raw for asked in model.requests])


QUESTIONS = (
    ("runs", "show", "last", "--json"),
    ("runs", "loop", "last"),
    ("runs", "diff", "last"),
    ("runs", "list", "--json"),
    ("deliveries", "list", "--json"),
    ("endpoints", "list"),
    ("jobs", "show", "chatty"),
)


def _exported(scene: Scene, environ: dict[str, str]) -> dict[str, bytes]:
    """Return the files that exports write in every form, by their names."""
    place = scene.path / "exported"
    beside = ("--requests", f"{place / 'requests'}", "--blobs", f"{place / 'blobs'}")
    for form, options in (("json", beside), ("md", ()), ("otlp", ("--content",))):
        _asks(scene, environ, "runs", "export", "last", "--format", form, "-o", f"{place / form}", *options)
    assert {"json", "md", "otlp"} <= {path.name for path in place.iterdir()}
    return {f"{path}": path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


def _asks(scene: Scene, environ: dict[str, str], *command: str) -> str:
    program = scene.start(*command, **environ)
    program.ends()
    return program.answer + program.notes
