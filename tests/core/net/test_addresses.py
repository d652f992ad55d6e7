"""Which addresses may be connected to."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.errors import ConfigError
from kova_auto.core.net.address import EgressRefusedError, Range, check_addresses, parse_cidr, range_of

NOT_PUBLIC = {
    Range.METADATA: [
        "169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254",
        "fe80::a9fe:a9fe", "::ffff:169.254.169.254",
    ],
    Range.LOOPBACK: ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1"],
    Range.PRIVATE: ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fd12::1", "fc00::1", "fec0::1"],
    Range.SHARED: ["100.64.0.1", "100.127.255.255"],
    Range.LINK_LOCAL: ["fe80::1", "febf::1"],
    Range.UNSPECIFIED: ["0.0.0.0", "0.1.2.3", "::"],
    Range.MULTICAST: ["224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"],
    Range.RESERVED: ["192.0.0.1", "192.88.99.1", "240.0.0.1", "255.255.255.255", "100::1", "5f00::1", "2001:20::1"],
    Range.DOCUMENTATION: ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
    Range.BENCHMARK: ["198.18.0.1", "198.19.255.255"],
    Range.TRANSLATED: [
        "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1",
        "2002:7f00:1::1", "2001:0:7f00:1::1",
    ],
    Range.UNASSIGNED: ["4000::1", "1::1", "e000::1"],
}  # fmt: skip


@pytest.mark.parametrize(("text", "kind"), [(text, kind) for kind, texts in NOT_PUBLIC.items() for text in texts])
def test_every_kind_of_address_that_is_not_public_is_named(text: str, kind: Range) -> None:
    assert range_of(ip_address(text)) is kind


@pytest.mark.parametrize(
    "text",
    ["1.1.1.1", "93.184.216.34", "99.255.255.255", "100.128.0.1", "172.32.0.1", "223.255.255.255", "2606:4700::1111"],
)
def test_a_public_address_is_public(text: str) -> None:
    assert range_of(ip_address(text)) is None


@given(st.ip_addresses())
def test_no_address_that_python_calls_private_is_public_to_us(address: object) -> None:
    ip = ip_address(str(address))
    if ip.is_private or ip.is_loopback or ip.is_link_local or ip.is_multicast or ip.is_reserved or ip.is_unspecified:
        # The one range where we are wider: a public IPv4 address inside IPv6 is judged as itself.
        assert range_of(ip) is not None or getattr(ip, "ipv4_mapped", None) is not None


def test_one_bad_answer_condemns_the_name() -> None:
    with pytest.raises(EgressRefusedError) as caught:
        check_addresses("mixed.test", ["93.184.216.34", "10.1.2.3"], ())

    assert caught.value.rule == "address.private"
    assert "93.184.216.34" not in str(caught.value)
    assert "10.1.2.3" not in str(caught.value)


def test_a_wrapped_address_is_connected_to_as_itself() -> None:
    assert check_addresses("a.test", ["::ffff:93.184.216.34"], ()) == [ip_address("93.184.216.34")]


def test_a_listed_network_opens_itself_and_nothing_else() -> None:
    allow = (ip_network("10.0.0.5/32"),)

    assert check_addresses("a.test", ["10.0.0.5"], allow) == [ip_address("10.0.0.5")]
    with pytest.raises(EgressRefusedError, match="private"):
        check_addresses("a.test", ["10.0.0.6"], allow)
    with pytest.raises(EgressRefusedError, match="loopback"):
        check_addresses("a.test", ["127.0.0.1"], allow)


@pytest.mark.parametrize(
    "text",
    [text for kind, texts in NOT_PUBLIC.items() for text in texts
     if kind not in {Range.LOOPBACK, Range.PRIVATE, Range.SHARED, Range.BENCHMARK}],
)  # fmt: skip
def test_a_list_of_everything_opens_no_metadata_service_and_no_translated_address(text: str) -> None:
    with pytest.raises(EgressRefusedError):
        check_addresses("a.test", [text], (ip_network("0.0.0.0/0"), ip_network("::/0")))


def test_a_network_is_read() -> None:
    assert parse_cidr("10.1.0.0/16") == ip_network("10.1.0.0/16")


@pytest.mark.parametrize("text", ["10.1.2.3/16", "example.org", "", "10.0.0.0/33", "169.254.169.254/32"])
def test_a_network_that_cannot_be_meant_is_refused_with_the_key(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_cidr(text)

    assert caught.value.key == "allow_cidrs"
