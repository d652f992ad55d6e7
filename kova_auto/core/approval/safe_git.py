"""The git commands that only read, each with the options under which it does.

Left out on purpose: what writes a file (`--output`, `-O`, `--remerge-diff`), runs a program (`--ext-diff`,
`--textconv`, `--show-signature`, `git grep -O`), refreshes the index (`describe --dirty`), asks another machine
(`ls-remote`, `remote show`), or reads a file from outside as if it were of the repository (`blame --contents`).

The settings of a repository may still name programs (filters, `textconv`): git is held by the confinement, which keeps
`.git/config` as it is, and is not listed behind a `cd`.
"""

from __future__ import annotations

from collections.abc import Mapping

from kova_auto.core.approval.safe_table import Style, Table

# Said before the verb. `-c`, `-C`, `--git-dir`, `--exec-path`, `--paginate` and their like choose what runs.
GLOBAL = frozenset(("--no-pager", "--no-optional-locks", "--no-replace-objects", "--literal-pathspecs"))

_DIFF_OPTIONS = """
-p -u --patch -s --no-patch --raw --numstat --shortstat --summary --patch-with-stat --patch-with-raw --compact-summary
--name-only --name-status --no-renames --minimal --patience --histogram --no-color --check --full-index --binary -R -a
--text -b -w -W --function-context --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines
--ignore-cr-at-eol --no-ext-diff --no-textconv --no-prefix --no-color-moved --pickaxe-all --pickaxe-regex -z
--exit-code --quiet --find-copies-harder --no-relative --irreversible-delete -D --indent-heuristic --no-indent-heuristic
-S=ANY -G=ANY --diff-filter=NAME --diff-algorithm=NAME --anchored=ANY --inter-hunk-context=NUMBER -l=NUMBER
-U,--unified=NUMBER --src-prefix=ANY --dst-prefix=ANY --line-prefix=ANY --ws-error-highlight=NAME
--stat?=NAME --dirstat?=NAME --color?=NAME --color-moved?=NAME --color-moved-ws?=NAME --word-diff?=NAME
--word-diff-regex?=ANY --color-words?=ANY --relative?=ANY --ignore-submodules?=SUBMODULES
--abbrev?=PERCENT --find-renames?=PERCENT --find-copies?=PERCENT --break-rewrites?=NAME -M?=PERCENT -C?=PERCENT
-B?=NAME
"""
_LOG_OPTIONS = f"""{_DIFF_OPTIONS}
-c -m --cc --combined-all-paths --follow --oneline --graph --no-graph --all --no-decorate --reverse --merges
--no-merges --first-parent --date-order --author-date-order --topo-order --abbrev-commit --no-abbrev-commit --no-abbrev
--parents --children --left-right --left-only --right-only --cherry-pick --cherry-mark --cherry --boundary
--full-history --dense --sparse --simplify-merges --simplify-by-decoration --show-pulls --ancestry-path --not -i -E -F
-P --regexp-ignore-case --extended-regexp --fixed-strings --basic-regexp --perl-regexp --all-match --invert-grep
--relative-date --use-mailmap --no-mailmap --clear-decorations --source -g --walk-reflogs --no-walk --do-walk --notes
--no-notes --log-size --root --reflog --ignore-missing --no-standard-notes --expand-tabs --no-expand-tabs
-n=NUMBER --max-count=NUMBER --skip=NUMBER --min-parents=NUMBER --max-parents=NUMBER --no-min-parents --no-max-parents
--since=ANY --after=ANY --until=ANY --before=ANY --since-as-filter=ANY --author=ANY --committer=ANY --grep=ANY
--grep-reflog=ANY --date=ANY -L=ANY --encoding=NAME --exclude=ANY --decorate-refs=ANY --decorate-refs-exclude=ANY
--show-notes?=ANY --diff-merges=NAME --decorate?=NAME --branches?=ANY --tags?=ANY --remotes?=ANY --glob=ANY
--format?=FORMAT --pretty?=FORMAT --show-linear-break?=ANY
"""
_REF_OPTIONS = """
--no-color --no-column -i --ignore-case --sort=FIELD --color?=NAME --column?=NAME --format=FORMAT --points-at~=ANY
--merged~=ANY --no-merged~=ANY --contains~=ANY --no-contains~=ANY
"""

_DIFF = Table(f"{_DIFF_OPTIONS} --cached --staged --merge-base", style=Style.GIT, settings=True)
_PLUMBING = Table(f"{_DIFF_OPTIONS} --cached -m -c --cc -r -t --root --no-commit-id -q -0 -1 -2 -3", style=Style.GIT)
_LOG = Table(_LOG_OPTIONS, style=Style.GIT, digits=True)

_VERBS: Mapping[str, Table] = {
    "log": _LOG,
    "show": _LOG,
    "whatchanged": _LOG,
    "stash list": _LOG,
    "reflog": _LOG._replace(operands="NOTHING"),
    "reflog show": _LOG,
    "diff": _DIFF,
    "stash show": _DIFF._replace(options=f"{_DIFF_OPTIONS} --include-untracked --only-untracked", most=1),
    "diff-tree": _PLUMBING,
    "diff-index": _PLUMBING,
    "diff-files": _PLUMBING,
    "status": Table(
        """-[sbz] --short --branch --show-stash --long --no-renames --renames --ahead-behind --no-ahead-behind
        --null -u,--untracked-files?=NAME --porcelain?=NAME --ignored?=NAME --find-renames?=PERCENT --column?=NAME
        --no-column --ignore-submodules?=SUBMODULES"""
    ),
    "branch": Table(
        f"-[arvl] --list --all --remotes --verbose --show-current --abbrev?=NUMBER {_REF_OPTIONS}", lists="--list"
    ),
    "tag": Table(f"-l --list -n?=NUMBER {_REF_OPTIONS}", lists="-l --list"),
    "for-each-ref": Table(f"{_REF_OPTIONS} --count=NUMBER --exclude=ANY -[sp] --shell --perl --python --tcl"),
    "show-ref": Table(
        "--head --heads --tags --branches -d --dereference -q --quiet --verify -s,--hash?=NUMBER --abbrev?=NUMBER"
    ),
    "rev-parse": Table(
        """--show-toplevel --git-dir --absolute-git-dir --git-common-dir --verify -q --quiet --is-inside-work-tree
        --is-inside-git-dir --is-bare-repository --is-shallow-repository --show-prefix --show-cdup --symbolic
        --symbolic-full-name --all --show-superproject-working-tree --revs-only --no-revs --flags --no-flags
        --abbrev-ref?=NAME --short?=NUMBER --branches?=ANY --tags?=ANY --remotes?=ANY --show-object-format?=NAME
        --path-format=NAME --git-path=ANY --since=ANY --until=ANY --default=ANY""",
        style=Style.GIT,
    ),
    "rev-list": Table(
        f"{_LOG_OPTIONS} --count --objects --objects-edge --quiet --timestamp --header --disk-usage --pretty?=FORMAT",
        style=Style.GIT,
        digits=True,
    ),
    "ls-files": Table(
        """-[cdmoisuktvz] --cached --deleted --modified --others --ignored --stage --unmerged --killed
        --exclude-standard --full-name --error-unmatch --directory --no-empty-directory --eol --deduplicate --debug
        --recurse-submodules --sparse -x,--exclude=ANY --with-tree=ANY --abbrev?=NUMBER --format=ANY"""
    ),
    "ls-tree": Table(
        """-[drtlz] --long --name-only --name-status --full-name --full-tree --object-only --abbrev?=NUMBER
        --format=ANY"""
    ),
    "grep": Table(
        """-[aIinhHlLzocpWEGFPwvqr] --text --ignore-case --line-number --column --name-only --files-with-matches
        --files-without-match --count --word-regexp --invert-match --full-name --extended-regexp --basic-regexp
        --fixed-strings --perl-regexp --null --only-matching --heading --break --show-function --function-context
        --all-match --quiet --cached --untracked --no-exclude-standard --exclude-standard
        --recurse-submodules --recursive --no-recursive --and --or --not --no-color --no-textconv --color?=NAME
        -e=ANY -m,--max-count=NUMBER --max-depth=NUMBER --threads=NUMBER -A,--after-context=NUMBER
        -B,--before-context=NUMBER -C,--context=NUMBER""",
        operands="SEARCHED",
        digits=True,
    ),
    "blame": Table(
        """-[ltswefnpbc] --porcelain --line-porcelain --incremental --root --show-stats --show-name --show-number
        --show-email --first-parent --color-lines --color-by-age --minimal --score-debug --no-progress
        -L=ANY --since=ANY --date=ANY --ignore-rev=ANY --abbrev=NUMBER -M?=PERCENT -C?=PERCENT --encoding=NAME""",
        style=Style.GIT,
    ),
    "shortlog": Table(
        """-[snec] --summary --numbered --email --committer --all --no-merges --merges -w?=LIST --since=ANY --after=ANY
        --until=ANY --before=ANY --author=ANY --grep=ANY --group=ANY --format=FORMAT"""
    ),
    "describe": Table(
        """--tags --all --always --long --exact-match --first-parent --contains --debug --match=ANY --exclude=ANY
        --abbrev=NUMBER --candidates=NUMBER"""
    ),
    "name-rev": Table("--tags --all --name-only --no-undefined --undefined --always --refs=ANY --exclude=ANY"),
    "cat-file": Table("-p -t -s -e", style=Style.GIT),
    "merge-base": Table("-a --all --octopus --independent --is-ancestor --fork-point"),
    "cherry": Table("-v --verbose --abbrev?=NUMBER"),
    "show-branch": Table(
        "-[ar] --all --remotes --current --topo-order --date-order --sparse --list --no-name --sha1-name"
    ),
    "range-diff": Table(
        f"{_DIFF_OPTIONS} --no-dual-color --left-only --right-only --creation-factor=NUMBER", style=Style.GIT
    ),
    "check-ignore": Table("-[qvnz] --quiet --verbose --non-matching --no-index"),
    "check-attr": Table("-a --all --cached -z"),
    "count-objects": Table("-[vH] --verbose --human-readable", operands="NOTHING"),
    "worktree list": Table("-[vz] --verbose --porcelain", operands="NOTHING"),
    "notes list": Table(),
    "notes show": Table(),
    "symbolic-ref": Table("-q --quiet --short", most=1),
    "remote": Table("-v --verbose", operands="NOTHING"),
    "remote get-url": Table("--push --all", most=1),
    "config": Table(
        """-l --list --get --get-all --show-origin --show-scope --name-only --global --system --local --worktree -z
        --null --bool --int --includes --no-includes --type=NAME""",
        operands="DOTTED",
        most=1,
    ),
    "version": Table("--build-options", operands="NOTHING"),
}

GIT: Mapping[str, Table] = {f"git {verb}": table._replace(settings=True) for verb, table in _VERBS.items()}
