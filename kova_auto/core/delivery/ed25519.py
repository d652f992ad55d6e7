"""Sign and verify with ed25519: `v1a` of Standard Webhooks, where the receiver holds the public half alone.

The arithmetic is that of the `cryptography` package, an extra; it is imported when a key of this kind is met.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kova_auto.core.errors import ConfigError

if TYPE_CHECKING:
    from types import ModuleType

SEED_BYTES: Final = 32
PUBLIC_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64


def _keys(key: str = "") -> ModuleType:
    """Return what knows such keys.

    Raises:
        ConfigError: The extra is not there.
    """
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as exc:
        msg = "signatures with ed25519 are an extra, which is not installed"
        raise ConfigError(msg, key=key, hint="pip install 'kova-auto[ed25519]'") from exc
    return ed25519


def public_of(seed: bytes, *, key: str = "") -> bytes:
    """Return the public half of the key that 32 bytes are.

    Args:
        seed: The secret half.
        key: Dotted key in the settings, named in the error.

    Raises:
        ConfigError: The extra is not there.
    """
    public: bytes = _keys(key).Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    return public


def sign(seed: bytes, message: bytes) -> bytes:
    """Return the signature of a message, 64 bytes.

    Raises:
        ConfigError: The extra is not there.
    """
    signature: bytes = _keys().Ed25519PrivateKey.from_private_bytes(seed).sign(message)
    return signature


def fits(public: bytes, signature: bytes, message: bytes) -> bool:
    """Say whether the holder of the secret half signed a message; False for whatever else is given.

    Raises:
        ConfigError: The extra is not there.
    """
    keys = _keys()
    from cryptography.exceptions import InvalidSignature

    try:
        keys.Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
