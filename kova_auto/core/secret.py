"""Secrets are named, never written down; this is how a file names one."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from kova_auto.core.value import Value


class SecretRef(Value):
    """Say where a secret is: exactly one of an environment variable, a file, a credential or a keyring entry."""

    env: str | None = None
    file: str | None = None
    credential: str | None = None
    keyring: str | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(value is not None for value in (self.env, self.file, self.credential, self.keyring)) != 1:
            msg = 'wanted one of { env = "NAME" }, { file = "path" }, { credential = "name" }, { keyring = "name" }'
            raise ValueError(msg)
        return self

    @property
    def source(self) -> str:
        """Say where the secret is, for messages: never what it is."""
        for kind in ("env", "file", "credential", "keyring"):
            if name := getattr(self, kind):
                return f"{kind} {name}"
        return "nowhere"
