"""Which URLs may be asked for, as far as their text can tell."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from kova_auto.core.net.address import EgressRefusedError
from kova_auto.core.net.url import Egress, Url, parse_url

OPEN = Egress(allow_http=True)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://example.org", Url("https", "example.org", 443, "/")),
        ("HTTPS://Example.ORG./a?b=c#d", Url("https", "example.org", 443, "/a?b=c")),
        ("http://example.org:8080/a%20b", Url("http", "example.org", 8080, "/a%20b")),
        ("https://example.org/ü?q=é", Url("https", "example.org", 443, "/%C3%BC?q=%C3%A9")),
        ("https://bücher.example/", Url("https", "xn--bcher-kva.example", 443, "/")),
        ("https://93.184.216.34/", Url("https", "93.184.216.34", 443, "/")),
        ("https://[2606:4700:0::1111]:443/", Url("https", "2606:4700::1111", 443, "/")),
        ("https://my_host.example/", Url("https", "my_host.example", 443, "/")),
    ],
)
def test_a_url_is_taken_apart(text: str, url: Url) -> None:
    assert parse_url(text, OPEN) == url


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("ftp://example.org/", "url.scheme"),
        ("//example.org/", "url.scheme"),
        ("example.org", "url.scheme"),
        ("file:///etc/passwd", "url.scheme"),
        ("https://", "url.host"),
        ("https:///path", "url.host"),
        ("https://a@example.org/", "url.userinfo"),
        ("https://a:b@example.org/", "url.userinfo"),
        ("https://pub.test\\@127.0.0.1/", "url.characters"),
        ("https://example.org/a b", "url.characters"),
        ("https://example.org/\n", "url.characters"),
        ("https://exa\tmple.org/", "url.characters"),
        ("https://example.org/\x00", "url.characters"),
        ("https://example.org/\ud800", "url.characters"),
        ("https://example.org/" + "a" * 8192, "url.characters"),
        ("https://[::1", "url.syntax"),
        ("https://[fe80::1%25lo]/", "url.host"),
        ("https://ex%61mple.org/", "url.host"),
        ("https://127.1/", "url.host"),
        ("https://0177.0.0.1/", "url.host"),
        ("https://2130706433/", "url.host"),
        ("https://0x7f000001/", "url.host"),
        ("https://0x7f.1/", "url.host"),
        ("https://0/", "url.host"),
        ("https://a..b/", "url.host"),
        ("https://-a.example/", "url.host"),
        (f"https://{'a' * 64}.example/", "url.host"),
        ("https://example.org:0/", "url.port"),
        ("https://example.org:22/", "url.port"),
        ("https://example.org:99999/", "url.port"),
        ("https://example.org:x/", "url.port"),
        ("https://①②⑦.0.0.1/", "address.loopback"),
        ("https://127.0.0.1/", "address.loopback"),
        ("https://127.0.0.1./", "address.loopback"),
        ("https://[::ffff:127.0.0.1]/", "address.loopback"),
        ("https://[64:ff9b::7f00:1]/", "address.translated"),
        ("https://169.254.169.254/", "address.metadata"),
    ],
)
def test_a_url_that_must_not_be_asked_for_is_refused_by_name_of_the_rule(text: str, rule: str) -> None:
    with pytest.raises(EgressRefusedError) as caught:
        parse_url(text, OPEN)

    assert caught.value.rule == rule


def test_plain_http_needs_leave() -> None:
    with pytest.raises(EgressRefusedError, match="only https"):
        parse_url("http://example.org/", Egress())


def test_a_private_address_needs_a_listed_network() -> None:
    egress = Egress(allow_cidrs=(ip_network("10.1.0.0/16"),))

    assert parse_url("https://10.1.2.3/", egress) == Url("https", "10.1.2.3", 443, "/")


@pytest.mark.parametrize("text", ["https://10.0.0.1/s3cr3t?token=s3cr3t", "https://s3cr3t:s3cr3t@example.org/"])
def test_a_refusal_never_repeats_what_may_be_secret(text: str) -> None:
    with pytest.raises(EgressRefusedError) as caught:
        parse_url(text, OPEN)

    assert "s3cr3t" not in str(caught.value)


def test_a_url_shows_its_origin_only() -> None:
    url = parse_url("https://hooks.example.org:8443/services/s3cr3t?sig=s3cr3t", OPEN)

    assert url.origin == "https://hooks.example.org:8443"
    assert "s3cr3t" not in repr(url)


def test_an_ipv6_origin_keeps_its_brackets() -> None:
    assert parse_url("https://[2606:4700::1111]/", OPEN).origin == "https://[2606:4700::1111]"
