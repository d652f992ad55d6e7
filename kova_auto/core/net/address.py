"""Decide which addresses may be connected to, from an explicit table.

`ipaddress.is_global` is no policy: it lets metadata services, multicast and translated loopback addresses through, and
changes with the interpreter. What is not in the table's public part is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from kova_auto.core.errors import ConfigError, KovaError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class EgressRefusedError(KovaError):
    """Say which rule keeps a request from being sent; asking again changes nothing.

    The text never holds more of the URL than its host.
    """

    def __init__(self, message: str, *, rule: str) -> None:
        """Keep the rule's stable name, as `address.loopback` or `url.scheme`, apart from the sentence."""
        self.rule = rule
        super().__init__(message)


class Range(StrEnum):
    """Name the kinds of address that are not public."""

    METADATA = "metadata"
    LOOPBACK = "loopback"
    PRIVATE = "private"
    SHARED = "shared"  # carrier-grade NAT
    LINK_LOCAL = "link_local"
    UNSPECIFIED = "unspecified"
    MULTICAST = "multicast"
    RESERVED = "reserved"
    DOCUMENTATION = "documentation"
    BENCHMARK = "benchmark"
    TRANSLATED = "translated"  # an IPv4 address inside an IPv6 one
    UNASSIGNED = "unassigned"


# An endpoint's own CIDR list opens only these: self-hosted receivers live there. The rest stays shut whatever it lists.
_LIFTABLE = frozenset({Range.LOOPBACK, Range.PRIVATE, Range.SHARED, Range.BENCHMARK})


def _table(*rows: tuple[Range, str]) -> tuple[tuple[Range, Network], ...]:
    return tuple((kind, ip_network(cidr)) for kind, cidrs in rows for cidr in cidrs.split())


# Read from the top: the first row that holds the address names it.
_V4 = _table(
    (Range.METADATA, "169.254.0.0/16 168.63.129.16/32 100.100.100.200/32 192.0.0.192/32"),
    (Range.LOOPBACK, "127.0.0.0/8"),
    (Range.UNSPECIFIED, "0.0.0.0/8"),
    (Range.PRIVATE, "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16"),
    (Range.SHARED, "100.64.0.0/10"),
    (Range.DOCUMENTATION, "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24"),
    (Range.BENCHMARK, "198.18.0.0/15"),
    (Range.MULTICAST, "224.0.0.0/4"),
    (Range.RESERVED, "192.0.0.0/24 192.88.99.0/24 240.0.0.0/4"),
)
_V6 = _table(
    (Range.METADATA, "fd00:ec2::/32 fd20:ce::254/128 fe80::a9fe:a9fe/128"),
    (Range.LOOPBACK, "::1/128"),
    (Range.UNSPECIFIED, "::/128"),
    (Range.TRANSLATED, "::/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 2001::/32 2002::/16"),
    (Range.PRIVATE, "fc00::/7 fec0::/10"),
    (Range.LINK_LOCAL, "fe80::/10"),
    (Range.MULTICAST, "ff00::/8"),
    (Range.DOCUMENTATION, "2001:db8::/32 3fff::/20"),
    (Range.RESERVED, "2001::/23 100::/64 5f00::/16"),
)
_V6_PUBLIC = IPv6Network("2000::/3")


def range_of(address: Address) -> Range | None:
    """Return what kind of address it is, None for a public one; an IPv4 address mapped into IPv6 counts as itself."""
    address = plain(address)
    table = _V4 if isinstance(address, IPv4Address) else _V6
    for kind, network in table:
        if address in network:
            return kind
    if isinstance(address, IPv6Address) and address not in _V6_PUBLIC:
        return Range.UNASSIGNED
    return None


def plain(address: Address) -> Address:
    """Return the IPv4 address that `::ffff:0:0/96` wraps, or the address itself."""
    return getattr(address, "ipv4_mapped", None) or address


def check_addresses(host: str, answers: Iterable[str], allow: Sequence[Network]) -> list[Address]:
    """Return the addresses that a name gave, in its order, if every one of them may be connected to.

    One bad answer condemns the rest: a name that answers with both is not one to trust.

    Args:
        host: Named in the error.
        answers: Addresses as text; a zone is dropped.
        allow: Networks that the endpoint's own settings open.

    Raises:
        EgressRefusedError: An answer is not public and not opened; the text names the rule, not the other answers.
    """
    addresses = [plain(ip_address(answer.partition("%")[0])) for answer in answers]
    for address in addresses:
        kind = range_of(address)
        if kind is None or (kind in _LIFTABLE and any(address in network for network in allow)):
            continue
        hint = "; open it with allow_cidrs, if that is meant" if kind in _LIFTABLE else ""
        msg = f"{host} is or answers with a {kind.replace('_', '-')} address, which must not be connected to{hint}"
        raise EgressRefusedError(msg, rule=f"address.{kind}")
    return addresses


def parse_cidr(text: str) -> Network:
    """Return the network that one entry of `allow_cidrs` names.

    Raises:
        ConfigError: It is no network, has host bits set, or opens addresses that are never opened.
    """
    try:
        network = ip_network(text)
    except ValueError as exc:
        msg = f"wanted a network such as 10.1.0.0/16, found {text!r}"
        raise ConfigError(msg, key="allow_cidrs", hint=str(exc)) from exc
    if network.num_addresses == 1 and range_of(network.network_address) not in {None, *_LIFTABLE}:
        msg = f"{text} can never be connected to"
        raise ConfigError(msg, key="allow_cidrs")
    return network
