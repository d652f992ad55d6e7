"""The commands that look at files and directories and at the machine, each with the options under which it only reads.

Left out on purpose: what writes a file (`tree -o` and `-R`, `file -C`, `sort -o`), runs a program (`find -exec`,
`fd -x` and `-l`, `file -z`, `du` through names from a file), changes something (`find -delete`, `file -p`, `date -s`,
`hostname NAME`), or shows what other processes were given (`ps`, `printenv`).
"""

from __future__ import annotations

from collections.abc import Mapping

from kova_auto.core.approval.safe_table import Style, Table

_SUMS = Table("-[bctwz] --binary --check --text --tag --zero --ignore-missing --quiet --status --strict --warn")
_FD = Table(
    """-[HIusigFaLp01q] --hidden --no-ignore --no-ignore-vcs --no-ignore-parent --unrestricted --case-sensitive
    --ignore-case --glob --regex --fixed-strings --absolute-path --follow --full-path --print0 --quiet --show-errors
    --strip-cwd-prefix --one-file-system --prune
    -d,--max-depth=NUMBER --min-depth=NUMBER --exact-depth=NUMBER -E,--exclude=ANY -t,--type=NAME -e,--extension=NAME
    -S,--size=NAME --changed-within=ANY --changed-before=ANY -o,--owner=ANY -c,--color=NAME -j,--threads=NUMBER
    --max-results=NUMBER --search-path=ANY"""
)

FILES: Mapping[str, Table] = {
    "cd": Table("-[LP]", operands="PLACE", most=1),
    "pwd": Table("-[LP]", operands="NOTHING"),
    "ls": Table(
        """-[aAlh1RrtSdFisfpqnoGgkucUXvxCmQbBNZLHD] --all --almost-all --author --escape --ignore-backups --directory
        --file-type --full-time --group-directories-first --no-group --human-readable --si --dereference
        --dereference-command-line --inode --kibibytes --literal --numeric-uid-gid --hide-control-chars
        --show-control-chars --quote-name --recursive --reverse --size --context --zero
        -I,--ignore=ANY --hide=ANY --sort=NAME --time=NAME --time-style=ANY --format=NAME --indicator-style=NAME
        --block-size=NAME --quoting-style=NAME -w,--width=NUMBER -T,--tabsize=NUMBER
        --color?=NAME --classify?=NAME --hyperlink?=NAME"""
    ),
    "tree": Table(
        """-[adlfxqNQpugshDFvtcUriASnCXJ] --gitignore --ignore-case --matchdirs --metafirst --prune --noreport --si
        --du --inodes --device --dirsfirst --filesfirst --nolinks
        -L=NUMBER -P=ANY -I=ANY --charset=NAME --filelimit=NUMBER --timefmt=ANY --sort=NAME""",
        style=Style.FLAGS,
        ends=False,
    ),
    "find": Table(
        """-[HLP] -print -print0 -prune -not -a -and -o -or -true -false -empty -readable -writable -executable
        -nouser -nogroup -xdev -mount -depth -follow -daystart -noleaf
        -maxdepth=NUMBER -mindepth=NUMBER -type=NAME -xtype=NAME -name=ANY -iname=ANY -path=ANY -ipath=ANY
        -wholename=ANY -iwholename=ANY -lname=ANY -ilname=ANY -regex=ANY -iregex=ANY -regextype=NAME -size=SIGNED
        -newer=ANY -anewer=ANY -cnewer=ANY -newermt=ANY -newerct=ANY -newerat=ANY -samefile=ANY
        -amin=SIGNED -atime=SIGNED -cmin=SIGNED -ctime=SIGNED -mmin=SIGNED -mtime=SIGNED -used=SIGNED -links=SIGNED
        -inum=SIGNED -user=NAME -group=NAME -uid=SIGNED -gid=SIGNED -perm=MODE -fstype=NAME""",
        style=Style.WORDS,
        ends=False,
    ),
    "fd": _FD,
    "fdfind": _FD,
    "file": Table(
        """-[biLhkrNn0lv] --brief --mime --mime-type --mime-encoding --extension --apple --dereference
        --no-dereference --keep-going --raw --no-pad --no-buffer --print0 --list -F,--separator=ANY -e,--exclude=NAME"""
    ),
    "stat": Table("-[Lft] --dereference --file-system --terse -c,--format=ANY --printf=ANY"),
    "du": Table(
        """-[sahckmbxLPSD0Hl] --summarize --all --human-readable --total --bytes --si --apparent-size --inodes
        --count-links --dereference --dereference-args --no-dereference --separate-dirs --one-file-system --null
        -d,--max-depth=NUMBER -B,--block-size=NAME -t,--threshold=NAME --exclude=ANY --time?=NAME --time-style=ANY"""
    ),
    "df": Table(
        """-[hHkiTPal] --all --human-readable --si --inodes --local --portability --print-type --total --no-sync
        -t,--type=NAME -x,--exclude-type=NAME -B,--block-size=NAME --output?=NAME"""
    ),
    "basename": Table("-[az] --multiple --zero -s,--suffix=ANY"),
    "dirname": Table("-z --zero"),
    "realpath": Table(
        """-[emLPqsz] --canonicalize-existing --canonicalize-missing --logical --physical --quiet --strip --no-symlinks
        --zero --relative-to=ANY --relative-base=ANY"""
    ),
    "readlink": Table(
        """-[femnqsvz] --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent
        --verbose --zero"""
    ),
    **dict.fromkeys(("md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum"), _SUMS),
    "cksum": Table("-[cwz] -a,--algorithm=NAME --untagged --check --zero"),
    "sum": Table("-[rs] --sysv"),
    "id": Table("-[ugGnrz] --user --group --groups --name --real --zero"),
    "whoami": Table(operands="NOTHING"),
    "groups": Table(),
    "uname": Table(
        """-[asnrvmpio] --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor
        --hardware-platform --operating-system""",
        operands="NOTHING",
    ),
    "arch": Table(operands="NOTHING"),
    "nproc": Table("--all --ignore=NUMBER", operands="NOTHING"),
    "uptime": Table("-[ps] --pretty --since", operands="NOTHING"),
    "free": Table("-[bkmghltw] --bytes --kibi --mebi --gibi --human --si --lohi --total --wide", operands="NOTHING"),
    "hostname": Table("-s --short", operands="NOTHING"),
    "locale": Table("-[acmk] --all-locales --charmaps --category-name --keyword-name"),
    "tty": Table("-s --silent --quiet", operands="NOTHING"),
    "date": Table(
        "-[uR] --utc --universal --rfc-email -d,--date=ANY -r,--reference=ANY -I,--iso-8601?=NAME --rfc-3339=NAME",
        operands="PLUS",
        most=1,
    ),
    "which": Table("-a"),
    "command -v": Table(operands="COMMAND"),
    "type": Table("-[atpP]", operands="COMMAND"),
    "true": Table(),
    "false": Table(),
    "echo": Table("-[neE]"),
}
