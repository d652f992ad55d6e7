"""What an examination finds of a service, and that it changes nothing and shows no secret."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from kova_auto.app.connect import connected
from kova_auto.app.discovery import nobody
from kova_auto.app.doctor import examine
from kova_auto.app.finding import Finding, Mark
from kova_auto.app.house_findings import of_data
from kova_auto.app.model_findings import Asking, of_job, of_servers
from kova_auto.app.pinning import Pinning
from kova_auto.core.errors import ModelRefusedError
from kova_auto.core.provider import Provider, configured
from kova_auto.llm.choice import Pin
from kova_auto.settings.load import load_settings
from kova_auto.tools.sandbox.select import Sandbox
from tests.app.houses import Home
from tests.llm.fault_server import Answer, refuses, serving
from tests.support import ALONE, a_job, at

NOW = at("07:00:00")
KEY = "sk-live-0123456789abcdef"
JSON = (("content-type", "application/json"),)
LISTS = Answer((b'{"data": [{"id": "m-1"}, {"id": "m-2"}]}',), headers=JSON)
BROKEN = 'prompt = "x"\nlimits.tokns = 5\n'


async def examined(home: Path, *, offline: bool = False, **variables: str) -> list[Finding]:
    environ = {"HOME": str(home), "PATH": os.defpath, **ALONE, **variables}
    settings = load_settings(None, environ)
    return [finding async for finding in examine(settings, environ, NOW, offline=offline)]


def marks(found: list[Finding], check: str) -> dict[str, Mark]:
    return {finding.name: finding.mark for finding in found if finding.check == check}


async def test_a_new_home_is_sound_and_nothing_is_made_in_it(tmp_path: Path) -> None:
    Home(tmp_path).jobs.mkdir(parents=True)
    found = await examined(tmp_path)

    assert [(one.check, one.mark) for one in found if one.check != "sandbox"] == [
        ("settings", Mark.OK),
        ("data", Mark.OK),
        ("zones", Mark.OK),
    ]
    assert not (tmp_path / ".local").exists()


async def test_every_part_of_a_service_has_its_line(tmp_path: Path) -> None:
    home = Home(tmp_path)
    async with serving(LISTS) as server, serving(refuses(401, {"error": {"message": f"bad {KEY}"}})) as strict:
        home.settings(
            f"""
            [providers.here]
            base_url = "http://127.0.0.1:{server.port}/v1"
            default_model = "m-1"
            [providers.strict]
            base_url = "http://127.0.0.1:{strict.port}/v1"
            api_key = {{ env = "STRICT" }}
            [providers.openai]
            api_key = {{ env = "NOT_SET" }}
            [endpoints.ci]
            url = "https://ci.example.org/"
            secret = {{ credential = "ci" }}
            """
        )
        home.job("asks", 'model = "here/m-2"\nenv = { T = { env = "STRICT" } }\n', script=None)
        home.job("plays", 'model = "mistral/m"\n')
        home.job("waits", 'model = "mistral/m"\nschedule.cron = "0 7 * * *"\n')
        (home.jobs / "broken.toml").write_text(BROKEN)
        found = await examined(tmp_path, STRICT=KEY)

    assert marks(found, "secret") == {
        "providers.strict.api_key": Mark.OK,
        "providers.openai.api_key": Mark.FAIL,
        "endpoints.ci.secret": Mark.WARN,
        "asks: env.T": Mark.OK,
    }
    assert marks(found, "job") == {"broken": Mark.FAIL, "asks": Mark.OK, "plays": Mark.WARN, "waits": Mark.FAIL}
    assert marks(found, "provider") == {"here": Mark.OK, "strict": Mark.FAIL, "openai": Mark.FAIL}
    assert KEY not in str(found)
    assert [request.method for request in (*server.requests, *strict.requests)] == ["GET", "GET"]


async def test_offline_nobody_is_asked(tmp_path: Path) -> None:
    home = Home(tmp_path)
    async with serving(LISTS) as server:
        home.settings(f'[providers.here]\nbase_url = "http://127.0.0.1:{server.port}/v1"\n')
        home.job("look", 'model = "here/m-2"\n', script=None)
        found = await examined(tmp_path, offline=True, KOVA_AUTO_DISCOVER="true")

    assert (marks(found, "provider"), marks(found, "server")) == ({"here": Mark.OK}, {})
    assert server.connections == 0


@pytest.mark.parametrize(("has_looked", "mark"), [(True, Mark.FAIL), (False, Mark.WARN)])
async def test_a_job_whose_auto_finds_nobody_fails_where_somebody_looked(
    tmp_path: Path, has_looked: bool, mark: Mark
) -> None:
    sandbox = Sandbox(tmp_path, (), bwrap=None, landlock_abi=0)
    finding, _ = await of_job(a_job(), Pinning({}, nobody), sandbox, NOW, has_looked=has_looked)

    assert (finding.mark, "no provider is configured" in finding.text) == (mark, True)


@pytest.mark.parametrize(
    ("changes", "mark", "text"),
    [
        pytest.param({}, Mark.WARN, "asks house/m; the price of house/m is not known", id="a default ceiling"),
        pytest.param({"bounds_money": True}, Mark.FAIL, "a ceiling in money wants the price", id="a ceiling it names"),
        pytest.param({"permissions": {"sandbox": "required"}}, Mark.FAIL, 'sandbox = "required"', id="no proof"),
    ],
)
async def test_what_stands_in_the_way_of_a_job_is_said(
    tmp_path: Path, changes: Mapping[str, object], mark: Mark, text: str
) -> None:
    house = configured("house", {"base_url": "https://models.example.org/v1"})
    pinning = Pinning({"house": house}, nobody)
    sandbox = Sandbox(tmp_path, (), bwrap=None, landlock_abi=0)
    finding, _ = await of_job(a_job("look", model="house/m", **changes), pinning, sandbox, NOW, has_looked=True)

    assert (finding.mark, text in finding.text) == (mark, True)


async def of_provider(provider: Provider, *models: str, lists: tuple[str, ...] = ()) -> Finding:
    async def ask(asked: Provider) -> tuple[str, ...]:
        if asked.name == "bad":
            message = "bad refuses the key"
            raise ModelRefusedError(message)
        return lists

    asking = Asking({}, {provider.name: provider}, {}, ask)
    (finding,) = [found async for found in asking.findings([Pin(provider.name, model) for model in models])]
    return finding


@pytest.mark.parametrize(
    ("name", "said", "lists", "found"),
    [
        ("mistral", {}, (), (Mark.FAIL, "has no key: set api_key in [providers.mistral]")),
        ("mistral", {"api_key": KEY}, ("m", "mistral-large-latest"), (Mark.OK, "takes its key, and lists 2 models")),
        ("ollama", {}, ("m",), (Mark.OK, "answers, and lists 1 model")),
        ("ollama", {}, (), (Mark.OK, "answers, and lists 0 models")),
        (
            "ollama",
            {"default_model": "n"},
            ("x",),
            (Mark.WARN, "answers, and does not list m, n: it may be another name of a model, or none"),
        ),
        ("bad", {"base_url": "http://127.0.0.1:1"}, (), (Mark.FAIL, "refuses the key")),
    ],
)
async def test_a_provider_is_judged_by_its_answer(
    name: str, said: Mapping[str, object], lists: tuple[str, ...], found: tuple[Mark, str]
) -> None:
    finding = await of_provider(configured(name, said), "m", lists=lists)

    assert (finding.mark, finding.text) == found


async def test_a_database_is_opened_and_a_live_service_named(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), **ALONE}
    settings = load_settings(None, environ)
    async with connected(settings, environ, kind="serve"):
        served = await of_data(settings, environ)
    alone = await of_data(settings, environ)
    settings.database_file.write_bytes(b"no database at all, but long enough to be looked at" * 20)
    broken = await of_data(settings, environ)

    assert (served.mark, f"process {os.getpid()} serves it" in served.text) == (Mark.OK, True)
    assert (alone.mark, alone.text) == (Mark.OK, "the database can be used; no service runs")
    assert broken.mark is Mark.FAIL


def test_servers_on_this_machine_are_named() -> None:
    assert [finding.text for finding in of_servers([Pin("llamacpp", "smol")])] == [
        'serves smol, for an "auto" without a provider'
    ]
    assert [finding.mark for finding in of_servers([])] == [Mark.OK]
