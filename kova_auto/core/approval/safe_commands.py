"""List the commands that only read, with the options under which they do.

An option is here because it was looked up; what is missing is refused. Left out on purpose: what writes a file
(`--output`, `sort -o`), runs a program (`--ext-diff`, `--textconv`, `--show-signature` and the `%G` that does the same,
`rg --pre`, `find -exec`), reads names from a file, or does not end (`tail -f`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

Kind = re.Pattern[str]

ANY: Kind = re.compile(r".*", re.DOTALL)
NUMBER: Kind = re.compile(r"\+?\d{1,9}[bkKMG]?")
LIST: Kind = re.compile(r"[\d,-]+")
WORD: Kind = re.compile(r"[A-Za-z0-9_:,-]*")
NOTHING: Kind = re.compile(r"(?!)")
# `%G…` and `%(signature)` start gpg.
FORMAT: Kind = re.compile(r"(?!.*%[-+ ]?G)(?!.*signature).*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reader:
    """Say under which options a command only reads.

    Attributes:
        flags: Options without a value.
        values: Options with a value, joined to them or in the next word.
        joined: Options whose value may be left out, so that it is never the next word.
        counts: A number alone is an option, as `-5`.
        bundles: Short options may share a dash.
        operands: What every other word must be.
        most: How many operands there may be.
    """

    flags: frozenset[str] = frozenset()
    values: Mapping[str, Kind] = field(default_factory=dict)
    joined: Mapping[str, Kind] = field(default_factory=dict)
    counts: bool = False
    bundles: bool = True
    operands: Kind = ANY
    most: int | None = None


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _each(text: str, kind: Kind) -> dict[str, Kind]:
    return dict.fromkeys(text.split(), kind)


_DIFF_FLAGS = _names(
    "-p -u --patch -s --no-patch --raw --numstat --shortstat --summary --patch-with-stat --name-only --name-status"
    " --no-renames --minimal --patience --histogram --no-color --check --full-index -R -a --text -b -w -z -W -c -m --cc"
    " --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines --function-context"
    " --no-ext-diff --no-textconv --no-prefix --pickaxe-all --pickaxe-regex --exit-code --quiet --follow"
    " --find-copies-harder"
)
_DIFF_VALUES = {
    **_each("-S -G --diff-filter --diff-algorithm --inter-hunk-context", ANY),
    **_each("-U --unified", NUMBER),
}
_DIFF_JOINED = {
    **_each("--stat --dirstat --color --color-moved --word-diff --word-diff-regex --color-words --relative", ANY),
    **_each("--abbrev --find-renames --find-copies -M -C", re.compile(r"\d*%?")),
}
_LOG_FLAGS = _DIFF_FLAGS | _names(
    "--oneline --graph --all --no-decorate --reverse --merges --no-merges --first-parent --date-order"
    " --author-date-order --topo-order --abbrev-commit --no-abbrev-commit --parents --children --left-right"
    " --cherry-pick --cherry-mark --cherry --boundary --full-history --simplify-merges --ancestry-path -i -E -F -P"
    " --regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp --all-match --invert-grep --relative-date"
    " --use-mailmap --no-mailmap --clear-decorations --source -g --walk-reflogs --no-walk --no-notes"
)
_LOG_VALUES = {
    **_DIFF_VALUES,
    **_each("-n --max-count --skip --min-parents --max-parents", NUMBER),
    **_each("--since --after --until --before --author --committer --grep --date -L", ANY),
    **_each("--exclude --decorate-refs --decorate-refs-exclude", ANY),
}
_LOG_JOINED = {
    **_DIFF_JOINED,
    **_each("--decorate --branches --tags --remotes --glob", ANY),
    **_each("--format --pretty", FORMAT),
}
_LOG = Reader(_LOG_FLAGS, _LOG_VALUES, _LOG_JOINED, counts=True, bundles=False)
_REFS_VALUES = {"--sort": re.compile(r"(?!.*signature)[A-Za-z:]+"), "--points-at": ANY}
_REFS_JOINED = {
    **_each("--color --column --merged --no-merged --contains --no-contains", ANY),
    "--format": FORMAT,
}
_TAG_LIST = Reader(
    _names("-i --ignore-case --no-color --no-column"), _REFS_VALUES, {**_REFS_JOINED, "-n": re.compile(r"\d*")}
)

_GIT: Mapping[str, Reader] = {
    "git log": _LOG,
    "git show": _LOG,
    "git diff": Reader(
        _DIFF_FLAGS | _names("--cached --staged --merge-base"), _DIFF_VALUES, _DIFF_JOINED, bundles=False
    ),
    "git status": Reader(
        _names("-s --short -b --branch --show-stash --long -z --no-renames --renames --ahead-behind --no-ahead-behind"),
        joined=_each("-u --untracked-files --porcelain --ignored --find-renames", WORD),
    ),
    "git rev-parse": Reader(
        _names(
            "--show-toplevel --git-dir --absolute-git-dir --git-common-dir --verify -q --quiet --is-inside-work-tree"
            " --is-inside-git-dir --is-bare-repository --is-shallow-repository --show-prefix --show-cdup --symbolic"
            " --symbolic-full-name --all --show-superproject-working-tree"
        ),
        joined=_each("--abbrev-ref --short --branches --tags --remotes --show-object-format", ANY),
        bundles=False,
    ),
    "git ls-files": Reader(
        _names(
            "-c -d -m -o -i -s -u -k -t -v -z --cached --deleted --modified --others --ignored --stage --unmerged"
            " --killed --exclude-standard --full-name --error-unmatch --directory --no-empty-directory --eol"
            " --deduplicate"
        ),
        _each("-x --exclude", ANY),
        _each("--abbrev", NUMBER),
    ),
    "git ls-tree": Reader(
        _names("-d -r -t -l -z --long --name-only --name-status --full-name --full-tree --object-only"),
        joined=_each("--abbrev", NUMBER),
    ),
    "git blame": Reader(
        _names(
            "-l -t -s -w -e -f -n -p -b -c --porcelain --line-porcelain --root --show-stats --show-name --show-number"
            " --show-email --first-parent --color-lines --color-by-age --minimal"
        ),
        {**_each("-L --since --date --ignore-rev", ANY), "--abbrev": NUMBER},
        _each("-M -C", re.compile(r"\d*")),
        bundles=False,
    ),
    "git shortlog": Reader(
        _names("-s -n -e -c --summary --numbered --email --committer --all --no-merges --merges"),
        _each("--since --after --until --before --author --group", ANY),
    ),
    "git describe": Reader(
        _names("--tags --all --always --long --exact-match --first-parent --contains"),
        {**_each("--match --exclude", ANY), **_each("--abbrev --candidates", NUMBER)},
        _each("--dirty --broken", ANY),
    ),
    "git branch": Reader(
        _names("-a -r -v -l -i --list --all --remotes --verbose --show-current --no-color --no-column --ignore-case"),
        _REFS_VALUES,
        {**_REFS_JOINED, "--abbrev": NUMBER},
        operands=NOTHING,
    ),
    "git tag": Reader(_TAG_LIST.flags, _TAG_LIST.values, _TAG_LIST.joined, operands=NOTHING),
    "git tag -l": _TAG_LIST,
    "git tag --list": _TAG_LIST,
    "git cat-file": Reader(_names("-p -t -s -e"), bundles=False),
    "git remote": Reader(_names("-v --verbose"), operands=NOTHING),
    "git stash list": _LOG,
    "git reflog": Reader(_LOG_FLAGS, _LOG_VALUES, _LOG_JOINED, counts=True, bundles=False, operands=NOTHING),
    "git reflog show": _LOG,
}

_LS = Reader(
    _names(
        "-a -A -l -h -1 -R -r -t -S -d -F -i -s -p -q -n -o -g -G -k -u -c -U -X -v -x -C -m -Q -b -B -N -Z -L -H"
        " --all --almost-all --human-readable --recursive --reverse --size --directory --group-directories-first"
        " --full-time --inode --no-group --numeric-uid-gid --si --dereference --literal --escape"
    ),
    _each("-I --ignore --hide --sort --time --time-style --format --indicator-style", ANY),
    _each("--color --classify --hyperlink", WORD),
)
_GREP = Reader(
    _names(
        "-r -R -n -i -l -L -c -v -w -x -o -q -s -h -H -E -F -G -P -I -a -b -Z -z -T --recursive"
        " --dereference-recursive --line-number --ignore-case --no-ignore-case --files-with-matches"
        " --files-without-match --count --invert-match --word-regexp --line-regexp --only-matching --quiet --silent"
        " --no-messages --no-filename --with-filename --extended-regexp --fixed-strings --basic-regexp --perl-regexp"
        " --null --null-data --text --byte-offset --initial-tab"
    ),
    {
        **_each("-e -f --regexp --file --include --exclude --exclude-dir --exclude-from --binary-files --label", ANY),
        **_each("-m -A -B -C --max-count --after-context --before-context --context", NUMBER),
        **_each("-d -D --directories --devices", WORD),
    },
    _each("--color --colour", WORD),
    counts=True,
)
_RG = Reader(
    _names(
        "-n -N -i -s -S -l -c -w -v -x -F -P -o -H -I -U -L -u -a -p -0 --files --hidden --no-ignore --no-heading"
        " --heading --line-number --no-line-number --ignore-case --case-sensitive --smart-case --files-with-matches"
        " --files-without-match --count --count-matches --word-regexp --line-regexp --invert-match --fixed-strings"
        " --only-matching --with-filename --no-filename --column --multiline --pcre2 --stats --json --type-list --trim"
        " --null --no-config --no-messages --pretty --vimgrep"
    ),
    {
        **_each("-g --glob --iglob -t --type -T --type-not -e --regexp -r --replace --sort --sortr --color", ANY),
        **_each("-A -B -C -m -d --after-context --before-context --context --max-count --max-depth", NUMBER),
        **_each("-M --max-columns --max-filesize", NUMBER),
    },
)
_FIND = Reader(
    _names("-print -print0 -prune -not -a -o"),
    _each("-type -name -iname -path -size -newer -mtime -maxdepth -mindepth", ANY),
    bundles=False,
)
_SORT = Reader(
    _names(
        "-u -n -r -h -V -f -b -d -g -i -M -R -c -C -m -s -z --unique --numeric-sort --reverse --human-numeric-sort"
        " --version-sort --general-numeric-sort --month-sort --ignore-case --ignore-leading-blanks --dictionary-order"
        " --stable --merge --zero-terminated"
    ),
    {**_each("-k --key", re.compile(r"[0-9.,A-Za-z]+")), **_each("-t --field-separator", ANY)},
)
_EDGE_VALUES = _each("-n -c --lines --bytes", NUMBER)
_EDGE = Reader(_names("-q -v -z --quiet --silent --verbose --zero-terminated"), _EDGE_VALUES, counts=True)

_PLAIN: Mapping[str, Reader] = {
    "ls": _LS,
    "pwd": Reader(_names("-L -P"), operands=NOTHING),
    "wc": Reader(_names("-l -w -c -m -L --lines --words --bytes --chars --max-line-length")),
    "head": _EDGE,
    "tail": _EDGE,
    "cat": Reader(_names("-n -b -s -E -T -A -e -t -v --number --number-nonblank --squeeze-blank --show-all")),
    "grep": _GREP,
    "rg": _RG,
    "find": _FIND,
    "sort": _SORT,
    "uniq": Reader(_names("-c -d -D -u -i -z --count --repeated --unique"), _each("-f -s -w", NUMBER), most=1),
    "cut": Reader(
        _names("-s -z --complement --only-delimited"),
        {
            **_each("-d --delimiter --output-delimiter", ANY),
            **_each("-f -c -b --fields --characters --bytes", LIST),
        },
    ),
    "nl": Reader(_names("-p"), _each("-b -f -h -n -s -w -v -i -l -d", ANY)),
    "tac": Reader(_names("-b -r --before --regex"), _each("-s --separator", ANY)),
    "rev": Reader(),
    "seq": Reader(_names("-w --equal-width"), _each("-s -f --separator --format", ANY), most=3),
    "basename": Reader(_names("-a -z --multiple --zero"), _each("-s --suffix", ANY)),
    "dirname": Reader(_names("-z --zero")),
    "realpath": Reader(_names("-e -m -L -P -q -s -z"), _each("--relative-to --relative-base", ANY)),
    "stat": Reader(_names("-L -f -t --dereference --file-system --terse"), _each("-c --format --printf", ANY)),
    "du": Reader(
        _names("-s -h -a -c -k -m -b -x -L -P -S -0 --summarize --human-readable --all --total --bytes --si"),
        {**_each("-d --max-depth", NUMBER), **_each("--exclude", ANY)},
    ),
    "df": Reader(_names("-h -H -k -i -T -P -a -l --human-readable --inodes --print-type"), _each("-t --type", WORD)),
    "id": Reader(_names("-u -g -G -n -r --user --group --groups --name --real")),
    "whoami": Reader(operands=NOTHING),
    "uname": Reader(_names("-a -s -n -r -v -m -o --all"), operands=NOTHING),
    "date": Reader(
        _names("-u --utc --universal -R --rfc-email"),
        _each("-d --date", ANY),
        _each("-I --iso-8601 --rfc-3339", WORD),
        operands=re.compile(r"\+.*", re.DOTALL),
        most=1,
    ),
    "which": Reader(_names("-a")),
    "true": Reader(),
    "false": Reader(),
    "echo": Reader(_names("-n -e -E")),
}

COMMANDS: Mapping[tuple[str, ...], Reader] = {
    tuple(name.split()): reader for name, reader in {**_GIT, **_PLAIN}.items()
}
