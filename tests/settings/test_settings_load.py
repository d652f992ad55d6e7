"""Settings come from one file of the user's, and from variables that have the last word."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from textwrap import dedent

import pytest

from kova_auto.core.delivery.target import FormatName
from kova_auto.core.errors import SettingsError
from kova_auto.core.price import Rates
from kova_auto.core.provider import Auth, ModelFacts, Provider, Timeouts, WireProtocol, configured
from kova_auto.core.secret import SecretRef
from kova_auto.settings.load import load_settings
from kova_auto.settings.model import EndpointTable, Settings

CASES = Path(__file__).parents[1] / "cases"
HOOK = "https://ci.example.org/hooks/kova"


def settings_file(home: Path, text: str) -> dict[str, str]:
    """Write the user's own settings file, and return the environment that leads to it."""
    path = home / "config" / "kova-auto" / "kova-auto.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text))
    return {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config")}


def loaded(home: Path, text: str, **variables: str) -> Settings:
    return load_settings(None, settings_file(home, text) | variables)


def problems_of(home: Path, text: str, **variables: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        loaded(home, text, **variables)
    return [problem.sentence.replace(f"{home}/config/kova-auto/", "") for problem in caught.value.problems]


def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    settings = load_settings(None, {"HOME": str(tmp_path)})
    assert settings == Settings(
        path=tmp_path / ".config/kova-auto/kova-auto.toml",
        jobs_dir=tmp_path / ".config/kova-auto/jobs",
        data_dir=tmp_path / ".local/share/kova-auto",
    )
    assert (settings.database, settings.timezone, settings.max_concurrent_runs) == ("sqlite", "UTC", 4)
    assert (settings.catch_up_per_start, settings.catch_up_spacing) == (5, timedelta(seconds=15))
    assert settings.max_sleep == timedelta(seconds=30)
    assert settings.database_file == tmp_path / ".local/share/kova-auto/kova-auto.db"


def test_paths_begin_at_the_settings_file(tmp_path: Path) -> None:
    settings = loaded(tmp_path, 'jobs_dir = "../nightly"\ndata_dir = "/var/lib/kova"')
    assert (settings.jobs_dir, settings.data_dir) == (tmp_path / "config/nightly", Path("/var/lib/kova"))


def test_a_file_of_the_current_directory_is_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kova-auto.toml").write_text('timezone = "Asia/Tokyo"')
    monkeypatch.chdir(tmp_path)
    assert load_settings(None, {"HOME": str(tmp_path / "home")}).timezone == "UTC"
    assert load_settings(Path("kova-auto.toml"), {"HOME": "/nowhere"}).jobs_dir == tmp_path / "jobs"


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path / "other.toml", {"HOME": str(tmp_path)})
    assert str(caught.value) == f"{tmp_path}/other.toml: wanted a text file, found nothing (kova-auto init writes one)"


@pytest.mark.parametrize(
    ("variables", "directory"),
    [
        ({"STATE_DIRECTORY": "/var/lib/kova-auto:/var/lib/more", "XDG_DATA_HOME": "/data"}, "/var/lib/kova-auto"),
        ({"XDG_DATA_HOME": "/data"}, "/data/kova-auto"),
        ({"XDG_DATA_HOME": "relative"}, "/home/ada/.local/share/kova-auto"),
    ],
    ids=["systemd", "XDG", "a relative XDG directory"],
)
def test_data_lies_where_the_platform_puts_it(variables: dict[str, str], directory: str) -> None:
    assert load_settings(None, {"HOME": "/home/ada", **variables}).data_dir == Path(directory)


def test_providers_and_endpoints_are_read(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path,
        """
        [providers.openai]
        api_key = { env = "OPENAI_API_KEY" }
        default_model = "gpt-5"
        headers = { X-Team = "night", X-Token = { file = "token" } }
        timeouts = { idle = "90s" }
        max_concurrent = 2

        [endpoints.team-slack]
        format = "slack"
        url = { env = "SLACK_WEBHOOK_URL" }

        [endpoints.ci]
        url = "http://127.0.0.1:9000/hook"
        secret = { credential = "ci_hook" }
        allow_http = true
        allow_cidrs = ["127.0.0.0/8"]
        """,
    )
    assert settings.endpoints == {
        "team-slack": EndpointTable(format=FormatName.SLACK, url=SecretRef(env="SLACK_WEBHOOK_URL")),
        "ci": EndpointTable(
            url="http://127.0.0.1:9000/hook",
            secret=(SecretRef(credential="ci_hook"),),
            allow_http=True,
            allow_cidrs=("127.0.0.0/8",),
        ),
    }
    provider = configured("openai", settings.providers["openai"].said(lambda reference: f"<{reference.source}>"))
    assert (provider.api_key, provider.headers) == (
        "<env OPENAI_API_KEY>",
        {"X-Team": "night", "X-Token": "<file token>"},
    )
    assert (provider.base_url, provider.timeouts) == ("https://api.openai.com/v1", Timeouts(idle_s=90))
    assert [key for key, _ in settings.secrets] == [
        "providers.openai.api_key",
        "providers.openai.headers.X-Token",
        "endpoints.team-slack.url",
        "endpoints.ci.secret",
    ]


def test_what_is_said_of_a_provider_and_its_models_arrives_with_it(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path,
        """
        [providers.azure]
        protocol = "openai-responses"
        base_url = "https://acme.openai.azure.com/openai/v1"
        auth = "api-key"
        api_version = "preview"
        check_path = "deployments"
        extra_body = { user = "kova", tags = ["a", 1] }

        [providers.azure.models."gpt-5"]
        window = 272_000
        price = { input = 1, output = 8.5, cache_read = 0.1 }
        extra_body = { reasoning = { effort = "low" } }
        """,
    )
    assert configured("azure", settings.providers["azure"].said(lambda _: "")) == Provider(
        name="azure",
        protocol=WireProtocol.OPENAI_RESPONSES,
        base_url="https://acme.openai.azure.com/openai/v1",
        auth=Auth.API_KEY,
        api_version="preview",
        check_path="deployments",
        extra_body={"user": "kova", "tags": ["a", 1]},
        models={
            "gpt-5": ModelFacts(
                window=272_000,
                price=Rates(input=1, output=8.5, cache_read=0.1),
                extra_body={"reasoning": {"effort": "low"}},
            )
        },
    )


def test_variables_have_the_last_word(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path,
        f'max_concurrent_runs = 2\n[endpoints.ci]\nurl = "{HOOK}"\nsecret = {{ env = "OLD" }}\nallow_http = true',
        KOVA_AUTO_MAX_CONCURRENT_RUNS="8",
        KOVA_AUTO_MAX_SLEEP="5s",
        KOVA_AUTO_DISCOVER="false",
        KOVA_AUTO_DATABASE__ENV="DATABASE_URL",
        KOVA_AUTO_ENDPOINTS__CI__SECRET__ENV="NEW",
        KOVA_AUTO_ENDPOINTS__CI__ALLOW_HTTP="false",
        KOVA_AUTO_ENDPOINTS__CI__ALLOW_CIDRS='["10.0.0.0/8"]',
        KOVA_AUTO_PROVIDERS__OLLAMA__MAX_CONCURRENT="1",
    )
    assert (settings.max_concurrent_runs, settings.max_sleep, settings.discover) == (8, timedelta(seconds=5), False)
    assert settings.database == SecretRef(env="DATABASE_URL")
    assert settings.endpoints["ci"] == EndpointTable(
        url=HOOK, secret=(SecretRef(env="NEW"),), allow_cidrs=("10.0.0.0/8",)
    )
    assert settings.providers["ollama"].max_concurrent == 1


def test_everything_wrong_with_a_file_is_named_with_its_line(tmp_path: Path) -> None:
    text = (CASES / "broken_settings.toml").read_text()
    formats = " or ".join(", ".join(f'"{name}"' for name in FormatName).rsplit(", ", 1))
    expected = (CASES / "broken_settings.txt").read_text().replace("FORMATS", formats)
    assert problems_of(tmp_path, text) == expected.splitlines()


@pytest.mark.parametrize("name", ["email", "apprise"])
def test_an_address_that_holds_a_password_is_a_reference_and_nothing_is_allowed_beside_it(
    tmp_path: Path, name: str
) -> None:
    table = f'[endpoints.post]\nformat = "{name}"\n'
    problems = problems_of(
        tmp_path, f'{table}url = "mailtos://u:opensesame@example.org"\nallow_http = true\nallow_cidrs = ["10.0.0.0/8"]'
    )
    assert [problem.partition(" (")[0] for problem in problems] == [
        "kova-auto.toml:3: endpoints.post.url: wanted a secret by reference: this URL holds a password",
        f"kova-auto.toml:4: endpoints.post.allow_http: wanted none: the format {name} has no use for it",
        f"kova-auto.toml:5: endpoints.post.allow_cidrs: wanted none: the format {name} has no use for it",
    ]
    assert "opensesame" not in "".join(problems)
    assert loaded(tmp_path, f'{table}url = {{ env = "MAIL_URL" }}').endpoints["post"].url == SecretRef(env="MAIL_URL")


def test_a_secret_written_out_is_not_shown(tmp_path: Path) -> None:
    problems = problems_of(
        tmp_path,
        'database = "postgresql://kova:hunter2@db/kova"\n[providers.openai]\napi_key = "opensesame"\n'
        '[endpoints.ci]\nurl = "https://u:opensesame@ci.example.org"\nsecret = { env = "S", value = "opensesame" }',
    )
    assert [problem.partition(": wanted")[0] for problem in problems] == [
        "kova-auto.toml:1: database",
        "kova-auto.toml:3: providers.openai.api_key",
        "kova-auto.toml:5: endpoints.ci.url",
        "kova-auto.toml:6: endpoints.ci.secret.value: unknown key (known here: env, file, credential, keyring)",
    ]
    assert not any(word in "\n".join(problems) for word in ("opensesame", "hunter2"))


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        (
            {"KOVA_AUTO_MAX_SLEP": "5s"},
            "KOVA_AUTO_MAX_SLEP: variables that begin with KOVA_AUTO_ are settings (did you mean KOVA_AUTO_MAX_SLEEP?)",
        ),
        (
            {"KOVA_AUTO_MAX_CONCURRENT_RUNS": "many"},
            'KOVA_AUTO_MAX_CONCURRENT_RUNS: wanted a whole number, found "many"',
        ),
        (
            {"KOVA_AUTO_TIMEZONE": "Mars"},
            "KOVA_AUTO_TIMEZONE: wanted the IANA name of a time zone, found 'Mars' (for example Europe/Berlin or UTC)",
        ),
        (
            {"KOVA_AUTO_PROVIDERS__OPENAI__API_KY__ENV": "X"},
            "KOVA_AUTO_PROVIDERS__OPENAI__API_KY__ENV: unknown key (did you mean api_key?)",
        ),
        (
            {"KOVA_AUTO_ENDPOINTS__CI__SECRET__ENV": "X"},
            "KOVA_AUTO_ENDPOINTS__CI__SECRET__ENV: endpoints.ci.url: wanted the address, found none",
        ),
        (
            {"KOVA_AUTO_ENDPOINTS": "[1,"},
            "KOVA_AUTO_ENDPOINTS: wanted JSON: Expecting value: line 1 column 4 (char 3)",
        ),
        (
            {"KOVA_AUTO_ENDPOINTS": "ci"},
            "KOVA_AUTO_ENDPOINTS: wanted a list or a table as JSON",
        ),
    ],
    ids=["unknown", "no number", "no zone", "unknown inside", "incomplete", "no JSON", "no table"],
)
def test_a_wrong_variable_is_named(tmp_path: Path, variables: dict[str, str], problem: str) -> None:
    assert problems_of(tmp_path, "max_concurrent_runs = 2", **variables) == [problem]


def test_a_file_that_is_no_toml_is_named_with_its_line(tmp_path: Path) -> None:
    assert problems_of(tmp_path, "timezone = UTC") == ["kova-auto.toml:1: wanted TOML: invalid value"]
