"""Find the endpoint of a name: those of the settings, and the receivers that commands started on loopback."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from platform import node
from uuid import NAMESPACE_URL, uuid5

from kova_auto.app.control import Listener
from kova_auto.app.rotation import retired
from kova_auto.app.vault import Vault
from kova_auto.core.delivery.format import Wish
from kova_auto.core.delivery.needs import NEEDS, Needs, options_of
from kova_auto.core.delivery.notice import EndpointNotice
from kova_auto.core.delivery.pacing import credential_of
from kova_auto.core.delivery.payload import FORMATS
from kova_auto.core.delivery.signature import SigningSecret, parse_secret
from kova_auto.core.delivery.target import FormatName, OptionValue, Target
from kova_auto.core.errors import ConfigError, UnknownEndpointError
from kova_auto.core.ids import EndpointName
from kova_auto.core.net.address import parse_cidr
from kova_auto.core.ports import Clock
from kova_auto.core.secret import SecretRef
from kova_auto.settings.model import EndpointTable, Settings

LOOPBACK = "127.0.0.0/8"


def instance_urn(machine: str, data_dir: Path) -> str:
    """Return the name of one installation: always the same, unlike that of any other, and telling nothing of it."""
    return uuid5(NAMESPACE_URL, f"kova-auto:{machine}:{data_dir}").urn


class Endpoints:
    """Resolve names to targets, their secrets fetched at that moment."""

    def __init__(self, settings: Settings, vault: Vault, clock: Clock) -> None:
        """Take the settings' endpoints; the clock says whether a secret that was replaced still signs."""
        self._settings, self._vault, self._clock = settings, vault, clock
        self._listeners: dict[str, Listener] = {}

    def listen(self, name: str, listener: Listener) -> None:
        """Know a receiver of a command, for as long as this process lives."""
        self._vault.remember(name, listener.secret)
        self._listeners[name] = listener

    def target(self, name: EndpointName) -> Target:
        """Return an endpoint.

        Raises:
            UnknownEndpointError: There is none of this name.
            ConfigError: A secret of it cannot be had.
        """
        if listener := self._listeners.get(name):
            return Target(
                name=name,
                format=FormatName.STANDARD,
                url=listener.url,
                secrets=(parse_secret(listener.secret),),
                allow_http=True,
                allow_cidrs=(parse_cidr(LOOPBACK),),
            )
        table = self._settings.endpoints.get(name)
        if table is None:
            known = ", ".join(sorted(self._settings.endpoints)) or "none"
            message = f"there is no endpoint {name}; the settings have {known}"
            raise UnknownEndpointError(message, key=f"endpoints.{name}", hint="kova-auto endpoints list shows them")
        needs = NEEDS[table.format]
        return Target(
            name=name,
            format=table.format,
            url=self._vault.value(table.url) if isinstance(table.url, SecretRef) else table.url or needs.url,
            secrets=self._secrets(name, table, needs),
            token=self._vault.value(table.token) if table.token else "",
            options=self._options(table),
            allow_http=table.allow_http,
            allow_cidrs=tuple(parse_cidr(text) for text in table.allow_cidrs),
            timeout_s=table.timeout.total_seconds(),
        )

    def _options(self, table: EndpointTable) -> Mapping[str, OptionValue]:
        options = options_of(NEEDS[table.format], table.options)
        if table.format is not FormatName.CLOUDEVENTS or "source" in options:
            return options
        return {**options, "source": instance_urn(node(), self._settings.data_dir)}

    def hears(self, name: EndpointName) -> bool:
        """Say whether an endpoint has a use for what is told of others."""
        table = self._settings.endpoints.get(name)
        if table is None:
            return name in self._listeners
        notice = EndpointNotice(what="disabled", endpoint=name, happened_at=self._clock.now())
        return FORMATS[table.format].declines(notice, Wish("msg_none", options=self._options(table))) is None

    def kin(self, name: EndpointName) -> Iterator[EndpointName]:
        """Yield the endpoints of the settings that share a credential with one, itself among them."""
        keys = {other: self._credential(EndpointName(other)) for other in (name, *self._settings.endpoints)}
        yield from (EndpointName(other) for other, key in keys.items() if key and key == keys[name])

    def _credential(self, name: EndpointName) -> str:
        """Return what tells an endpoint's credential apart; empty where it cannot be had."""
        try:
            return credential_of(self.target(name))
        except ConfigError:
            return ""

    def _secrets(self, name: EndpointName, table: EndpointTable, needs: Needs) -> tuple[SigningSecret, ...]:
        """Return what signs, each once: the newest first, and last the one that was replaced a while ago."""
        found = [self._secret(name, reference, needs) for reference in table.secret]
        if needs.signs == "whsec" and (old := retired(self._settings.data_dir, name, self._clock.now())):
            self._vault.remember(f"retired {name}", old.secret)
            found.append(parse_secret(old.secret, key=f"endpoints.{name}.secret", asymmetric=True))
        return tuple(dict.fromkeys(found))

    def _secret(self, name: EndpointName, reference: SecretRef, needs: Needs) -> SigningSecret:
        text = self._vault.value(reference)
        if needs.signs == "whsec":
            return parse_secret(text, key=f"endpoints.{name}.secret", asymmetric=True)
        return SigningSecret(text.encode())
