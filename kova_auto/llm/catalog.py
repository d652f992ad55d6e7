"""Open the model of a pin: the one place that knows each protocol. Opening imports what the chosen kind needs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from kova_auto.core.errors import SettingsError
from kova_auto.core.ports import Model
from kova_auto.core.provider import Provider, WireProtocol
from kova_auto.llm.choice import Pin, provider_of
from kova_auto.llm.script import parse_script

if TYPE_CHECKING:
    from kova_auto.llm.wire import Wire

Spoken = Literal[WireProtocol.OPENAI_CHAT, WireProtocol.OPENAI_RESPONSES, WireProtocol.ANTHROPIC_MESSAGES]


class OpenModel(Model, Protocol):
    """Be a model that holds connections until it is closed.

    Attributes:
        key_refused: Its provider did not take its key: whoever opens it anew may have another.
    """

    key_refused: bool

    async def aclose(self) -> None:
        """Close them; safe to call twice."""


def open_model(
    pin: Pin,
    providers: Mapping[str, Provider],
    script_text: str | None = None,
    script_path: str = "",
    *,
    subagent: tuple[str, str] | None = None,
    weights_dir: Path | None = None,
) -> OpenModel:
    """Return what speaks to the model of a pin; whoever opens it closes it.

    Args:
        pin: As `pick` gave it.
        providers: As given to `pick`.
        script_text: Content of the job's script.
        script_path: Where that was read.
        subagent: Name and task of the subagent that it is played for; None where it is played for none.
        weights_dir: Where the weights of models in this process are kept; None where there can be none.

    Raises:
        ConfigError: The provider is not there any more, or the script is none.
    """
    if pin.scripted:
        if script_text is None:
            msg = "wanted a script to play, found none"
            raise SettingsError(msg, path=script_path)
        from kova_auto.llm.scripted import ScriptPlayer

        script = parse_script(script_text, script_path)
        return ScriptPlayer(script.part(*subagent) if subagent else script)
    provider = provider_of(pin.provider, providers)
    if provider.protocol is WireProtocol.LOCAL and weights_dir:
        from kova_auto.llm.local.model import LocalModel

        return LocalModel(provider, weights_dir)
    if provider.protocol is WireProtocol.LOCAL:
        msg = f"this version does not speak {provider.protocol}"
        raise SettingsError(msg, key=f"providers.{provider.name}.protocol")
    from kova_auto.llm.client import HttpModel

    return HttpModel(provider, wire_of(provider.protocol))


def wire_of(protocol: Spoken) -> Wire:
    """Return what translates into the words of a protocol that is spoken over HTTP."""
    match protocol:
        case WireProtocol.OPENAI_CHAT:
            from kova_auto.llm.openai_chat.wire import OpenAiChat

            return OpenAiChat()
        case WireProtocol.OPENAI_RESPONSES:
            from kova_auto.llm.openai_responses.wire import OpenAiResponses

            return OpenAiResponses()
        case WireProtocol.ANTHROPIC_MESSAGES:
            from kova_auto.llm.anthropic_messages.wire import AnthropicMessages

            return AnthropicMessages()


async def models_at(provider: Provider, *, weights_dir: Path | None = None) -> tuple[str, ...]:
    """Return the models that a provider lists, asked without cost; none where it lists none.

    Args:
        provider: Who is asked.
        weights_dir: As for `open_model`.

    Raises:
        ModelError: It does not answer, or refuses the key.
        ConfigError: Nobody speaks its protocol.
    """
    from kova_auto.llm.client import HttpModel
    from kova_auto.llm.local.model import LocalModel

    model = open_model(Pin(provider.name, "any"), {provider.name: provider}, weights_dir=weights_dir)
    try:
        return await model.check() if isinstance(model, HttpModel | LocalModel) else ()
    finally:
        await model.aclose()
