"""What package managers, build tools and `gh` only tell, each with the options under which they do.

Left out on purpose: what runs a program or a project's code (`--python`, `--script-shell`, `-toolexec`, `--web`),
writes (`--log`, `go env -w`, a lock file), or takes settings or a project from elsewhere (`--prefix`,
`--manifest-path`, `--config`). Some of these ask a registry where they can reach one.
"""

from __future__ import annotations

from collections.abc import Mapping

from kova_auto.core.approval.safe_table import Style, Table

_GH = "-q,--jq=JQ --json=FIELDS -R,--repo=ANY"
_GH_LIST = f"{_GH} -L,--limit=NUMBER"
_FOUND = f"{_GH_LIST} -a,--assignee=ANY -A,--author=ANY -l,--label=ANY -S,--search=ANY -s,--state=NAME --app=ANY"
_NPM = """
-a --all --json -l --long -p --parseable -g --global --workspaces --include-workspace-root -w,--workspace=PACKAGE
"""
_NPM_LS = Table(
    f"{_NPM} --link --package-lock-only --no-unicode --production --depth=NUMBER --omit=NAME --include=NAME",
    operands="PACKAGE",
    style=Style.WORDS,
    settings=True,
)
_NPM_ASKS = Table(_NPM, operands="PACKAGE", style=Style.WORDS, settings=True, network=True)
_PIP = "--disable-pip-version-check --no-color --no-input --isolated -v --verbose -q --quiet"
_PIPS: Mapping[str, Table] = {
    "list": Table(
        f"""{_PIP} -o --outdated -u --uptodate -e --editable -l --local --user --pre --not-required
        --exclude-editable --include-editable --no-index --format=NAME --exclude=NAME --path=ANY""",
        operands="NOTHING",
        settings=True,
        network=True,
    ),
    "show": Table(f"{_PIP} -f --files", operands="COMMAND", settings=True),
    "check": Table(_PIP, operands="NOTHING", settings=True),
}
_CARGO = """
-v --verbose -q --quiet --locked --offline --frozen --all-features --no-default-features -F,--features=ANY --color=NAME
"""
# Without both, a missing lock file would be written.
_CARGO_MUST = "--frozen --offline+--locked"
# Version managers look into the directory for the version that it asks for.
_VERSION = Table(operands="NOTHING", settings=True)
_SHORT_VERSION = ("node -v", "npm -v", "python -V", "python3 -V")
_VERSIONED = (
    *("bash", "cmake", "curl", "diff", "find", "g++", "gcc", "git", "grep", "jq", "ld", "ls", "make", "node", "npm"),
    *("perl", "pip", "pip3", "python", "python3", "rg", "ruby", "sed", "sort", "tar"),
)

TOOLS: Mapping[str, Table] = {
    **{
        name: table._replace(operands=operands, network=True, settings=True)
        for name, table, operands in (
            ("gh pr list", Table(f"{_FOUND} -d --draft -B,--base=ANY -H,--head=ANY"), "NOTHING"),
            ("gh pr view", Table(f"{_GH} -c --comments"), "REFERENCE"),
            ("gh issue list", Table(f"{_FOUND} -m,--milestone=ANY --mention=ANY"), "NOTHING"),
            ("gh issue view", Table(f"{_GH} -c --comments"), "REFERENCE"),
            ("gh run list", Table(f"{_GH_LIST} -b,--branch=ANY -u,--user=ANY -w,--workflow=ANY"), "NOTHING"),
            (
                "gh run view",
                Table(f"{_GH} --exit-status --log --log-failed -v --verbose -j,--job=NUMBER"),
                "REFERENCE",
            ),
        )
    },
    **dict.fromkeys(("npm ls", "npm list"), _NPM_LS),
    **dict.fromkeys(("npm outdated", "npm view", "npm info"), _NPM_ASKS),
    **{f"{pip} {verb}": table for pip in ("pip", "pip3") for verb, table in _PIPS.items()},
    "cargo tree": Table(
        f"""{_CARGO} -e,--edges=NAME -i,--invert~=PACKAGE -p,--package=PACKAGE --prune=PACKAGE --depth=NAME
        --prefix=NAME --no-dedupe -d --duplicates --charset=NAME -f,--format=ANY --workspace --exclude=PACKAGE
        --target=NAME""",
        operands="NOTHING",
        must=_CARGO_MUST,
        settings=True,
    ),
    "cargo metadata": Table(
        f"{_CARGO} --no-deps --format-version=NUMBER --filter-platform=NAME",
        operands="NOTHING",
        must=f"{_CARGO_MUST} --offline+--no-deps",
        settings=True,
    ),
    "go list": Table(
        "-deps -e -find -m -test -versions -u -retracted -json?=NAME -f=ANY -tags=NAME",
        operands="IMPORT",
        style=Style.GO,
        settings=True,
        network=True,
    ),
    "go env": Table("-json -changed", operands="VARIABLE", style=Style.GO, settings=True),
    "go version": Table(operands="NOTHING", settings=True),
    **dict.fromkeys(_SHORT_VERSION, _VERSION),
    **dict.fromkeys((f"{name} --version" for name in _VERSIONED), _VERSION),
}
