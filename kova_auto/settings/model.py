"""What a settings file may say, and the settings that the service works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue, StrictBool, StrictInt, field_validator, model_validator

from kova_auto.core.delivery.target import FormatName
from kova_auto.core.duration import Duration
from kova_auto.core.job import Moment, Name
from kova_auto.core.provider import Auth, Dialect, ModelFacts, ProviderName, WireProtocol
from kova_auto.core.secret import SecretRef
from kova_auto.core.value import Value
from kova_auto.settings.agents import AgentsTable, PluginsTable
from kova_auto.settings.ingress import IngressTable

Resolve = Callable[[SecretRef], str]


class TimeoutsTable(Value):
    """Say how long one call of a model may take."""

    connect: Duration | None = Field(default=None, gt=timedelta(0))
    first_token: Duration | None = Field(default=None, gt=timedelta(0))
    idle: Duration | None = Field(default=None, gt=timedelta(0))
    total: Duration | None = Field(default=None, gt=timedelta(0))


class ProviderTable(Value):
    """Say how one provider of models is reached; whatever is left out is as for the built-in one of that name."""

    protocol: WireProtocol | None = None
    base_url: str | None = None
    api_key: SecretRef | None = None
    headers: dict[str, str | SecretRef] | None = None
    default_model: str | None = None
    timeouts: TimeoutsTable | None = None
    dialect: Dialect | None = None
    max_concurrent: StrictInt | None = Field(default=None, ge=1)
    auth: Auth | None = None
    api_version: str | None = None
    extra_body: dict[str, JsonValue] | None = None
    models: dict[str, ModelFacts] = Field(default_factory=dict)
    check_path: str | None = None

    @property
    def secrets(self) -> tuple[tuple[str, SecretRef], ...]:
        """Return the references in this table, each with its key."""
        headers = (self.headers or {}).items()
        found = [(f"headers.{name}", value) for name, value in headers if isinstance(value, SecretRef)]
        return (("api_key", self.api_key), *found) if self.api_key else tuple(found)

    @cached_property
    def plain(self) -> Mapping[str, object]:
        """Return what the table says as it stands there; each run asks."""
        return self.model_dump(exclude={"api_key", "headers", "timeouts"}, exclude_none=True)

    def said(self, resolve: Resolve) -> dict[str, object]:
        """Return what the table says in the terms of `core.provider.configured`, its secrets resolved."""
        plain: dict[str, object] = {**self.plain}
        if self.api_key is not None:
            plain["api_key"] = resolve(self.api_key)
        if self.headers is not None:
            plain["headers"] = {
                name: value if isinstance(value, str) else resolve(value) for name, value in self.headers.items()
            }
        if self.timeouts is not None:
            given = ((name, value) for name, value in self.timeouts if value is not None)
            plain["timeouts"] = {f"{name}_s": value.total_seconds() for name, value in given}
        return plain


class EndpointTable(Value):
    """Say where results may be delivered, and how far a request to it may go.

    Attributes:
        url: By reference where the URL itself is a credential, as Slack's is; None where the format has an address.
        secret: Signs what is sent; of several, the first is the newest, and all of them sign.
        token: Lets us in, where the format wants one.
        allow_cidrs: Networks that are not public and may be reached.
        options: Every other key: those that the format knows by itself.
    """

    format: FormatName = FormatName.STANDARD
    url: str | SecretRef | None = None
    secret: tuple[SecretRef, ...] = ()
    token: SecretRef | None = None
    allow_http: StrictBool = False
    allow_cidrs: tuple[str, ...] = ()
    timeout: Duration = Field(default=timedelta(seconds=10), gt=timedelta(0), le=timedelta(seconds=60))
    options: dict[str, JsonValue] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _own_keys(cls, given: object) -> object:
        """Put the keys of the format by themselves; whether it knows them, `settings/checks.py` sees."""
        if not isinstance(given, Mapping) or isinstance(given.get("options"), Mapping):
            return given
        common = {key: value for key, value in given.items() if key in cls.model_fields and key != "options"}
        return {**common, "options": {key: value for key, value in given.items() if key not in common}}

    @field_validator("secret", mode="before")
    @classmethod
    def _one_or_more(cls, given: object) -> object:
        return (given,) if isinstance(given, Mapping | SecretRef) else given

    @property
    def secrets(self) -> tuple[tuple[str, SecretRef], ...]:
        """Return the references in this table, each with its key."""
        found = (("url", self.url), ("token", self.token), *(("secret", one) for one in self.secret))
        return tuple((key, value) for key, value in found if isinstance(value, SecretRef))


class CalendarTable(Value):
    """Name dates on which jobs may be told not to run, as holidays.

    Attributes:
        file: Holds further dates, one a line; None once they are read.
    """

    dates: tuple[Moment, ...] = ()
    file: str | None = None


class SettingsFile(Value):
    """Hold what a settings file says, with every default filled in.

    Attributes:
        alerts: Endpoints that are told of the trouble of any other, whichever job it comes from.
        sqlite_synchronous: `full` waits at every commit until the disk has it; with `normal` a machine that loses its
            power may forget the last ones.
        discover: `auto` looks for a server of models on this machine, where no provider is configured for it.
    """

    jobs_dir: Path = Path("jobs")
    data_dir: Path | None = None
    database: Literal["sqlite"] | SecretRef = "sqlite"
    sqlite_synchronous: Literal["full", "normal"] = "full"
    timezone: str = "UTC"
    max_concurrent_runs: StrictInt = Field(default=4, ge=1, le=1000)
    catch_up_per_start: StrictInt = Field(default=5, ge=1, le=1000)
    catch_up_spacing: Duration = Field(default=timedelta(seconds=15), ge=timedelta(0), le=timedelta(hours=1))
    max_sleep: Duration = Field(default=timedelta(seconds=30), gt=timedelta(0), le=timedelta(minutes=10))
    alerts: tuple[Name, ...] = ()
    discover: StrictBool = True
    providers: dict[ProviderName, ProviderTable] = Field(default_factory=dict)
    endpoints: dict[Name, EndpointTable] = Field(default_factory=dict)
    calendars: dict[Name, CalendarTable] = Field(default_factory=dict)
    ingress: IngressTable = Field(default_factory=IngressTable)
    agents: AgentsTable = Field(default_factory=AgentsTable)
    plugins: PluginsTable = Field(default_factory=PluginsTable)

    @property
    def secrets(self) -> tuple[tuple[str, SecretRef], ...]:
        """Return every reference to a secret, each with its dotted key."""
        tables = [
            (f"{kind}.{name}", table)
            for kind, named in (("providers", self.providers), ("endpoints", self.endpoints))
            for name, table in named.items()
        ]
        own = [("database", self.database)] if isinstance(self.database, SecretRef) else []
        if self.ingress.slack:
            own.append(("ingress.slack.signing_secret", self.ingress.slack.signing_secret))
        return (*own, *((f"{place}.{key}", ref) for place, table in tables for key, ref in table.secrets))


class Settings(SettingsFile):
    """Hold the settings of this service, resolved: paths are absolute, the files of calendars are read.

    Attributes:
        path: The settings file; it need not exist.
        jobs_dir: Absolute.
        data_dir: Absolute.
    """

    path: Path
    data_dir: Path

    @property
    def calendar_dates(self) -> dict[str, frozenset[date]]:
        """Return the dates of each calendar."""
        return {
            name: frozenset(date.fromisoformat(written) for written in table.dates)
            for name, table in self.calendars.items()
        }

    @property
    def database_file(self) -> Path:
        """Return where SQLite keeps the journal."""
        return self.data_dir / "kova-auto.db"

    @property
    def weights_dir(self) -> Path:
        """Return where the weights of models in this process are kept."""
        return self.data_dir / "models"
