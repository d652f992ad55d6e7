"""Who serves a model: where, in which protocol, with which key, and how long we wait.

The table of built-in providers is data; settings may change every entry and add others. Keys come resolved, and are
shown nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from ipaddress import ip_address
from types import MappingProxyType
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticKnownError

from kova_auto.core.price import Rates
from kova_auto.core.scripted import SCRIPTED
from kova_auto.core.value import Value

_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


class WireProtocol(StrEnum):
    """Name the protocol that a provider speaks."""

    OPENAI_CHAT = "openai-chat"
    OPENAI_RESPONSES = "openai-responses"
    ANTHROPIC_MESSAGES = "anthropic-messages"
    LOCAL = "local"  # a model in this process


class Auth(StrEnum):
    """Name the header that carries a key."""

    BEARER = "bearer"  # authorization: Bearer KEY
    X_API_KEY = "x-api-key"
    API_KEY = "api-key"


class Timeouts(Value):
    """Hold how long one call of a model may take, in seconds.

    Attributes:
        connect_s: Until the connection stands.
        first_token_s: From the request to the first piece of content.
        idle_s: Between two pieces of content; keep-alives do not count as content.
        total_s: For the whole call; None leaves it to the run's own limit.
    """

    connect_s: float = Field(default=10, gt=0)
    first_token_s: float = Field(default=300, gt=0)
    idle_s: float = Field(default=120, gt=0)
    total_s: float | None = Field(default=None, gt=0)


class ModelFacts(Value):
    """Hold what somebody says of one model of a provider; what is left out is as the tables know it.

    Attributes:
        window: Tokens that request and reply may have together.
        max_output: Tokens that a reply may have.
        price: USD per million tokens.
        extra_body: Added to each request to this model, over the provider's own.
    """

    window: int | None = Field(default=None, gt=0)
    max_output: int | None = Field(default=None, gt=0)
    price: Rates | None = None
    extra_body: dict[str, JsonValue] = Field(default_factory=dict)


class Dialect(Value):
    """Say how a provider differs from its protocol's text, where servers are known to disagree.

    Attributes:
        max_tokens_key: What the limit of a reply is called.
        stream_usage: It understands the wish for a count of tokens at the end of a stream.
        null_content: A reply that only calls tools goes back with no text as null; else as an empty string.
        user_after_tools: A user message may follow a tool result directly.
        keeps_ids: It takes every id of a tool call back that it, or another, has given.
        cache_marks: It wants to be told up to where a prompt is worth keeping in its cache.
        marks: Beginnings of the names of models to which Chat Completions, too, sends such marks.
        cache_key: It wants to be told which requests begin alike, so that one of its machines gets them all.
        echo: Fields of its replies that it wants back unchanged; all others are left out of the next request.
    """

    max_tokens_key: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    stream_usage: bool = True
    null_content: bool = True
    user_after_tools: bool = True
    keeps_ids: bool = True
    cache_marks: bool = True
    marks: tuple[str, ...] = ()
    cache_key: bool = False
    echo: tuple[str, ...] = ("reasoning_details", "extra_content")


def _sendable(value: str) -> str:
    """Refuse what no header can carry, without saying what it is: it may be a key."""
    if not value.isascii() or not value.isprintable() or value != value.strip():
        msg = "wanted printable ASCII without spaces around it: check the file or variable for a line break"
        raise ValueError(msg)
    return value


def _header_name(value: str) -> str:
    if not _HEADER_NAME.fullmatch(value):
        msg = "wanted the name of an HTTP header"
        raise ValueError(msg)
    return value


def _http_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or not value.isprintable():
        msg = 'wanted an http or https URL, as "https://api.example.org/v1"'
        raise ValueError(msg)
    if parts.username is not None or parts.fragment:
        msg = "wanted a URL without a user, a password or a #fragment: a key belongs in api_key"
        raise ValueError(msg)
    _ = parts.port  # Raises ValueError where it is no number.
    return value


@lru_cache(maxsize=256)  # Of all providers that are built in, for each run that is opened.
def _is_here(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False  # A name, which anybody may have given: 127.0.0.1.example.org is one.


Sendable = Annotated[str, AfterValidator(_sendable)]
HeaderName = Annotated[str, AfterValidator(_header_name)]
ProviderName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=64)]


class Provider(Value):
    """Hold everything that is needed to ask one provider; neither its key nor its URL's query is ever shown.

    Attributes:
        base_url: Empty for a model in this process alone.
        api_key: Sent as `auth` says; empty where the provider wants none.
        api_version: Of the protocol, where it has versions; empty for the one we know.
        headers: Sent with every request, before ours of the same name.
        needs_key: Without a key it cannot be used.
        key_env: Variable that usually holds its key, for hints.
        default_model: What `auto` means here; empty where nobody said.
        max_concurrent: Calls at the same time, from one process.
        extra_body: Added to each request's body, over what we would send.
        models: What somebody says of single models, by their names here.
        check_path: What may be asked without cost to see whether a key is good.
    """

    model_config = ConfigDict(hide_input_in_errors=True)

    name: ProviderName
    protocol: WireProtocol = WireProtocol.OPENAI_CHAT
    base_url: str = Field(default="", repr=False, validate_default=True)
    api_key: Sendable = Field(default="", repr=False, exclude=True)
    headers: dict[HeaderName, Sendable] = Field(default_factory=dict, repr=False, exclude=True)
    needs_key: bool = False
    key_env: str = ""
    default_model: str = ""
    timeouts: Timeouts = Timeouts()
    dialect: Dialect = Dialect()
    max_concurrent: int = Field(default=16, gt=0)
    auth: Auth = Auth.BEARER
    api_version: Sendable = ""
    extra_body: dict[str, JsonValue] = Field(default_factory=dict)
    models: dict[str, ModelFacts] = Field(default_factory=dict)
    check_path: str = "models"

    @field_validator("base_url")
    @classmethod
    def _has_a_place(cls, value: str, info: ValidationInfo) -> str:
        if info.data.get("protocol") is WireProtocol.LOCAL:
            if value:
                msg = "wanted none: the model runs in this process"
                raise ValueError(msg)
            return value
        if not value:
            raise PydanticKnownError("missing")  # noqa: EM101  # its type is a closed set
        return _http_url(value)

    @property
    def place(self) -> str:
        """Return the base URL as it may be shown, without its query; empty for a model in this process."""
        if not self.base_url:
            return ""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc}{parts.path}"

    @property
    def is_local(self) -> bool:
        """Say whether it runs on this machine, as far as its address tells."""
        if self.protocol is WireProtocol.LOCAL:
            return True
        return _is_here(self.base_url)

    @property
    def usable(self) -> bool:
        """Say whether it can be asked: it has its key, or needs none."""
        return bool(self.api_key) or not self.needs_key

    def url(self, path: str) -> str:
        """Return the address of an endpoint, the base URL's query kept; a base that names the endpoint stays as it is.

        Args:
            path: Without a leading slash, as `chat/completions`.
        """
        parts = urlsplit(self.base_url)
        base = parts.path.rstrip("/").removesuffix(f"/{path}")
        return parts._replace(path=f"{base}/{path}").geturl()


_OPENAI = Dialect(max_tokens_key="max_completion_tokens", cache_key=True)
_STRICT = Dialect(max_tokens_key="max_completion_tokens", echo=())
_MISTRAL = Dialect(stream_usage=False, user_after_tools=False, keeps_ids=False, echo=())
_THINKS_BACK = Dialect(echo=("reasoning_content",))
_ROUTED = Dialect(marks=("anthropic/",))  # What it hands on to Anthropic is cached as far as it is marked.
_PLAIN = Dialect()

_CLAUDE: Final = Provider(
    name="anthropic",
    protocol=WireProtocol.ANTHROPIC_MESSAGES,
    base_url="https://api.anthropic.com/v1",
    auth=Auth.X_API_KEY,
    needs_key=True,
    key_env="ANTHROPIC_API_KEY",
)
_HOSTED: Final = (
    ("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "", _OPENAI),
    ("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openrouter/auto", _ROUTED),
    ("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "", _STRICT),
    ("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "mistral-large-latest", _MISTRAL),
    ("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek-flash", _THINKS_BACK),
    ("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", "", _THINKS_BACK),
    ("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", "", _PLAIN),
    ("xai", "https://api.x.ai/v1", "XAI_API_KEY", "", _PLAIN),
    ("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", "", _STRICT),
    ("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY", "", _PLAIN),
    ("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", "", _PLAIN),
)
_CHECKED_AT: Final = {"openrouter": "key"}  # Its list of models is there for everybody.
_SPOKEN: Final = {"openai": WireProtocol.OPENAI_RESPONSES}
_LOCAL: Final = (
    ("ollama", "http://127.0.0.1:11434/v1"),
    ("vllm", "http://127.0.0.1:8000/v1"),
    ("lmstudio", "http://127.0.0.1:1234/v1"),
    ("llamacpp", "http://127.0.0.1:8080/v1"),
)
_IN_PROCESS: Final = Provider(
    name="local",
    protocol=WireProtocol.LOCAL,
    default_model="smollm2-135m",
    max_concurrent=1,
)


def _table() -> dict[str, Provider]:
    hosted = {
        name: Provider(
            name=name,
            protocol=_SPOKEN.get(name, WireProtocol.OPENAI_CHAT),
            base_url=url,
            needs_key=True,
            key_env=variable,
            default_model=model,
            dialect=dialect,
            check_path=_CHECKED_AT.get(name, "models"),
        )
        for name, url, variable, model, dialect in _HOSTED
    }
    servers = {name: Provider(name=name, base_url=url) for name, url in _LOCAL}
    return {_CLAUDE.name: _CLAUDE} | hosted | servers | {_IN_PROCESS.name: _IN_PROCESS}


BUILT_IN: Final[Mapping[str, Provider]] = MappingProxyType(_table())


def configured(name: str, said: Mapping[str, object]) -> Provider:
    """Return a provider as somebody configured it, on top of the built-in one of that name, if there is one.

    Raises:
        ValueError: A field is wrong (pydantic's error, which holds no input), or the name is taken.
    """
    if name == SCRIPTED:
        msg = f"{SCRIPTED!r} is what a played script is called: choose another name"
        raise ValueError(msg)
    known = BUILT_IN.get(name)
    under = dict(known) if known else {}
    if known and known.protocol is WireProtocol.OPENAI_RESPONSES and _is_elsewhere(known, said.get("base_url")):
        under["protocol"] = WireProtocol.OPENAI_CHAT  # What stands in for it speaks this, as a rule, and may not that.
    return Provider.model_validate({**under, **said, "name": name})


def _is_elsewhere(known: Provider, base_url: object) -> bool:
    return isinstance(base_url, str) and urlsplit(base_url).hostname != urlsplit(known.base_url).hostname
