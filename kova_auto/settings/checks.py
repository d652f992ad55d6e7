"""Check what no single key of the settings shows: zone, URLs, networks, what a format needs."""

from __future__ import annotations

from pydantic import ValidationError

from kova_auto.core.delivery.needs import NEEDS, Want, problems_of
from kova_auto.core.delivery.target import FormatName
from kova_auto.core.errors import ConfigError, SettingsError
from kova_auto.core.net.address import EgressRefusedError, Network, parse_cidr
from kova_auto.core.net.url import Egress, parse_url
from kova_auto.core.provider import BUILT_IN, Provider, configured
from kova_auto.core.redact import redact_shapes
from kova_auto.core.schedule.zone import parse_zone
from kova_auto.core.toml.complaints import REFERENCE_FORMS, complaints
from kova_auto.core.toml.places import Key
from kova_auto.core.toml.problems import Problems
from kova_auto.settings.agents import agents_problems, plugins_problems
from kova_auto.settings.ingress import ingress_problems
from kova_auto.settings.model import EndpointTable, ProviderTable, SettingsFile

_STAND_IN = "not-resolved-yet"
_COMMON = frozenset(EndpointTable.model_fields) - {"options"}


def check_settings(file: SettingsFile, problems: Problems[SettingsError]) -> None:
    """Note everything that is wrong with settings whose keys are right one by one."""
    try:
        parse_zone(file.timezone)
    except ConfigError as exc:
        problems.pass_on(("timezone",), exc)
    for key, wrong in ingress_problems(file.ingress):
        problems.pass_on(("ingress", key), wrong)
    for place, wrong in (*agents_problems(file.agents, file.providers), *plugins_problems(file.plugins)):
        problems.pass_on(place, wrong)
    for index, name in enumerate(file.alerts):
        if name not in file.endpoints:
            known = ", ".join(sorted(file.endpoints)) or "none"
            problems.add(("alerts", index), f"wanted an endpoint, found {name}", f"the settings have {known}")
    for name, provider in file.providers.items():
        _check_provider(name, provider, problems)
    for name, endpoint in file.endpoints.items():
        _check_endpoint(("endpoints", name), endpoint, problems)


def _check_provider(name: str, table: ProviderTable, problems: Problems[SettingsError]) -> None:
    place: Key = ("providers", name)
    said = table.said(lambda _: _STAND_IN)
    try:
        configured(name, said)
    except ValidationError as exc:
        for key, message, hint in complaints(exc, Provider, said, lambda *found: found).values():
            is_address = key == ("base_url",) and "base_url" not in said
            problems.add((*place, *key), message, f"built in: {', '.join(BUILT_IN)}" if is_address else hint)
    except ValueError as exc:
        problems.add(place, str(exc))


def _check_endpoint(place: Key, table: EndpointTable, problems: Problems[SettingsError]) -> None:
    networks = _networks(place, table, problems)
    needs = None if (*place, "format") in problems else NEEDS[table.format]
    if needs and not needs.receipts:
        _check_carried(place, table, problems)
    elif isinstance(table.url, str):
        _check_url((*place, "url"), table.url, Egress(table.allow_http, networks), problems)
    if needs is None:
        return
    if table.url is None and not needs.url and (*place, "url") not in problems:
        problems.add((*place, "url"), "wanted the address, found none")
    _check_want((*place, "secret"), needs.secret, table.secret, table.format, problems)
    _check_want((*place, "token"), needs.token, table.token, table.format, problems)
    for key, message, hint in problems_of(needs, table.options, _COMMON):
        problems.add((*place, *key), message, hint)


def _check_carried(place: Key, table: EndpointTable, problems: Problems[SettingsError]) -> None:
    """Note what is wrong with an endpoint that our own HTTP, and its guard, have no part in."""
    if isinstance(table.url, str):
        problems.add((*place, "url"), "wanted a secret by reference: this URL holds a password", REFERENCE_FORMS)
    for key, given in (("allow_http", table.allow_http), ("allow_cidrs", table.allow_cidrs)):
        if given:
            problems.add((*place, key), f"wanted none: the format {table.format} has no use for it", "leave it out")


def _check_want(key: Key, want: Want, given: object, name: FormatName, problems: Problems[SettingsError]) -> None:
    if want is Want.REQUIRED and not given and key not in problems:
        problems.add(key, f"wanted a {key[-1]} for the format {name}, found none", REFERENCE_FORMS)
    elif want is Want.NONE and given:
        problems.add(key, f"wanted none: the format {name} has no use for it", "leave it out")


def _networks(place: Key, table: EndpointTable, problems: Problems[SettingsError]) -> tuple[Network, ...]:
    found: list[Network] = []
    for index, text in enumerate(table.allow_cidrs):
        try:
            found.append(parse_cidr(text))
        except ConfigError as exc:
            problems.pass_on((*place, "allow_cidrs", index), exc)
    return tuple(found)


def _check_url(key: Key, url: str, egress: Egress, problems: Problems[SettingsError]) -> None:
    if redact_shapes(url) != url:
        problems.add(key, "wanted a secret by reference: whoever knows this URL may post to it", REFERENCE_FORMS)
        return
    try:
        parse_url(url, egress)
    except EgressRefusedError as exc:
        hint = "set allow_http = true, if that is meant" if exc.rule == "url.scheme" and url.startswith("http:") else ""
        problems.add(key, str(exc), hint)
