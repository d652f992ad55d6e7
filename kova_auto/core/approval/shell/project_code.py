"""Know which commands run what the workspace itself says, so that a rule for them reaches as far as its files.

Such rules are remembered all the same, because they are what people allow most; the card and `doctor` say so.

Source: reference on shells, sections 4 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Projects:
    """Say what of the workspace a command runs.

    Attributes:
        reading: Subcommands that only tell something.
    """

    says: str
    reading: frozenset[str] = frozenset()


def _each(names: str, says: str, reading: str = "") -> dict[str, _Projects]:
    return dict.fromkeys(names.split(), _Projects(says, frozenset(reading.split())))


_KNOWN: Mapping[str, _Projects] = {
    **_each("git", "follows the hooks, filters and settings of the repository, which can name programs"),
    **_each(
        "npm pnpm yarn",
        "runs scripts of package.json and of the packages that it installs",
        "ls list ll la outdated view info show search why explain help ping whoami bin root prefix licenses",
    ),
    **_each(
        "pip uv poetry pdm hatch pipenv rye conda mamba micromamba pixi gem",
        "runs the set-up code of the packages that it installs",
        "list show freeze check tree help version search index inspect cache info",
    ),
    **_each(
        "cargo",
        "compiles the project and runs its build scripts, macros and tests",
        "tree metadata search info version help locate-project owner",
    ),
    **_each("go", "compiles the project and runs its tests and tools", "env version list doc help mod"),
    **_each("terraform tofu", "runs the providers and programs that the configuration names", "version fmt"),
    **_each("nx turbo lerna ng rails bundle composer flutter stack cabal", "runs tasks that the project names", "help"),
    **_each(
        "pytest py.test jest vitest mocha ava karma cypress playwright rspec phpunit pre-commit",
        "runs tests, plug-ins and settings of the workspace, which are code",
    ),
    **_each(
        "eslint stylelint prettier babel webpack vite rollup esbuild parcel next nuxt astro gulp grunt storybook mypy"
        " pylint flake8 rubocop sphinx-build mkdocs tsup",
        "runs settings and plug-ins of the workspace, which are code",
    ),
}


def project_code(name: str, subcommand: str | None) -> str:
    """Return what of the workspace a command runs, as the rest of a sentence about it; empty where nothing is known."""
    found = _KNOWN.get(name)
    return "" if found is None or subcommand in found.reading else found.says
