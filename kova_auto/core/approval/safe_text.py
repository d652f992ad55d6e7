"""The commands that print, search and reshape text, each with the options under which it only reads.

Left out on purpose: what writes a file (`sort -o` and `-T`, `uniq IN OUT`, `xxd -r`, `sed w`), runs a program
(`sort --compress-program`, `rg --pre`, `diff -l`, `sed e`, all of `awk`), reads names or a program from a file
(`wc --files0-from`, `jq -f`, `sed -f`), shows the environment (`jq env`), or does not end (`tail -f`).
"""

from __future__ import annotations

from collections.abc import Mapping

from kova_auto.core.approval.safe_table import Style, Table

_GREP = Table(
    """-[rRnilLcvwxoqshHyEFGPIabZzTU] --recursive --dereference-recursive --line-number --ignore-case --no-ignore-case
    --files-with-matches --files-without-match --count --invert-match --word-regexp --line-regexp --only-matching
    --quiet --silent --no-messages --no-filename --with-filename --extended-regexp --fixed-strings --basic-regexp
    --perl-regexp --null --null-data --text --byte-offset --initial-tab --line-buffered --binary --no-group-separator
    -e,--regexp=ANY -f,--file=ANY --include=ANY --exclude=ANY --exclude-dir=ANY --exclude-from=ANY
    --binary-files=NAME --label=ANY --group-separator=ANY -m,--max-count=NUMBER -A,--after-context=NUMBER
    -B,--before-context=NUMBER -C,--context=NUMBER -d,--directories=NAME -D,--devices=NAME --color,--colour?=NAME""",
    operands="SEARCHED",
    digits=True,
)
_EDGE = Table(
    "-[qvz] --quiet --silent --verbose --zero-terminated -n,--lines=SIZE -c,--bytes=SIZE",
    digits=True,
)

TEXT: Mapping[str, Table] = {
    "cat": Table(
        """-[nbsETAetvu] --number --number-nonblank --squeeze-blank --show-all --show-ends --show-nonprinting
        --show-tabs"""
    ),
    "head": _EDGE,
    "tail": _EDGE,
    "wc": Table("-[lwcmL] --lines --words --bytes --chars --max-line-length"),
    "tac": Table("-[br] --before --regex -s,--separator=ANY"),
    "rev": Table(),
    "nl": Table(
        """-p --no-renumber -b,--body-numbering=ANY -f,--footer-numbering=ANY -h,--header-numbering=ANY
        -n,--number-format=NAME -s,--number-separator=ANY -w,--number-width=NUMBER -v,--starting-line-number=NUMBER
        -i,--line-increment=NUMBER -l,--join-blank-lines=NUMBER -d,--section-delimiter=ANY"""
    ),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": Table(
        """-[nNisSlcwvxFPoHIULuap0qb] --files --hidden --no-ignore --no-ignore-vcs --no-ignore-dot --no-ignore-exclude
        --no-ignore-files --no-ignore-global --no-ignore-parent --no-require-git --no-heading --heading --line-number
        --no-line-number --ignore-case --case-sensitive --smart-case --files-with-matches --files-without-match --count
        --count-matches --include-zero --word-regexp --line-regexp --invert-match --fixed-strings --only-matching
        --with-filename --no-filename --column --byte-offset --multiline --multiline-dotall --pcre2 --stats --json
        --type-list --trim --null --null-data --no-config --no-messages --pretty --vimgrep --quiet --text --binary
        --crlf --follow --unrestricted --one-file-system --passthru --no-unicode --mmap --no-mmap --line-buffered
        --block-buffered --max-columns-preview --glob-case-insensitive --no-context-separator
        -g,--glob=ANY --iglob=ANY -t,--type=NAME -T,--type-not=NAME --type-add=ANY -e,--regexp=ANY -f,--file=ANY
        -r,--replace=ANY --sort=NAME --sortr=NAME --color=NAME --colors=ANY -E,--encoding=NAME --engine=NAME
        --ignore-file=ANY --context-separator=ANY --field-match-separator=ANY --field-context-separator=ANY
        --path-separator=ANY -A,--after-context=NUMBER -B,--before-context=NUMBER -C,--context=NUMBER
        -m,--max-count=NUMBER -d,--max-depth=NUMBER -M,--max-columns=NUMBER --max-filesize=SIZE -j,--threads=NUMBER""",
        operands="SEARCHED",
    ),
    "sort": Table(
        """-[unrhVfbdgiMRcCmsz] --unique --numeric-sort --reverse --human-numeric-sort --version-sort
        --general-numeric-sort --month-sort --random-sort --ignore-case --ignore-leading-blanks --dictionary-order
        --ignore-nonprinting --stable --merge --zero-terminated --debug -k,--key=SORTKEY -t,--field-separator=ANY
        --sort=NAME --check?=NAME --parallel=NUMBER"""
    ),
    "uniq": Table(
        """-[cdDuiz] --count --repeated --unique --ignore-case --zero-terminated --all-repeated?=NAME --group?=NAME
        -f,--skip-fields=NUMBER -s,--skip-chars=NUMBER -w,--check-chars=NUMBER""",
        most=1,
    ),
    "cut": Table(
        """-[snz] --complement --only-delimited --zero-terminated -d,--delimiter=ANY --output-delimiter=ANY
        -f,--fields=LIST -c,--characters=LIST -b,--bytes=LIST"""
    ),
    "tr": Table("-[cCdst] --complement --delete --squeeze-repeats --truncate-set1", most=2),
    "paste": Table("-[sz] --serial --zero-terminated -d,--delimiters=ANY"),
    "join": Table(
        "-[iz] --ignore-case --check-order --nocheck-order --header -a=NUMBER -v=NUMBER -e=ANY -o=NAME -t=ANY"
        " -1=NUMBER -2=NUMBER -j=NUMBER"
    ),
    "column": Table(
        "-[txJde] --table --fillrows --json -s,--separator=ANY -o,--output-separator=ANY -c,--output-width=NUMBER"
        " -N,--table-columns=ANY -n,--table-name=ANY -R,--table-right=ANY -H,--table-hide=ANY"
    ),
    "fold": Table("-[bs] --bytes --spaces -w,--width=NUMBER", digits=True),
    "fmt": Table("-[cstu] --crown-margin --split-only --uniform-spacing -w,--width=NUMBER"),
    "expand": Table("-i --initial -t,--tabs=LIST"),
    "unexpand": Table("-a --all --first-only -t,--tabs=LIST"),
    "tsort": Table(),
    "seq": Table("-w --equal-width -s,--separator=ANY -f,--format=ANY", operands="SIGNED", digits=True),
    "diff": Table(
        """-[urqNiwbByacsEZdtTpne] --brief --report-identical-files --recursive --new-file --ignore-case
        --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-trailing-space --ignore-tab-expansion
        --side-by-side --suppress-common-lines --left-column --text --minimal --normal --show-c-function --expand-tabs
        --initial-tab --no-dereference --strip-trailing-cr --unidirectional-new-file --speed-large-files
        -U=NUMBER -C=NUMBER --unified?=NUMBER --context?=NUMBER -W,--width=NUMBER -x,--exclude=ANY
        -X,--exclude-from=ANY -I,--ignore-matching-lines=ANY -F,--show-function-line=ANY --label=ANY
        --color?=NAME --tabsize=NUMBER""",
        operands="SEARCHED",
        digits=True,
    ),
    "cmp": Table("-[bls] --print-bytes --verbose --quiet --silent -n,--bytes=SIZE -i,--ignore-initial=NAME"),
    "comm": Table("-[123z] --check-order --nocheck-order --total --zero-terminated --output-delimiter=ANY"),
    "od": Table(
        """-[abcdfilosxv] --output-duplicates -A,--address-radix=NAME -t,--format=NAME -j,--skip-bytes=SIZE
        -N,--read-bytes=SIZE -w,--width?=NUMBER --endian=NAME"""
    ),
    "hexdump": Table(
        """-[bcCdoxv] --canonical --one-byte-octal --one-byte-char --two-bytes-decimal --two-bytes-octal
        --two-bytes-hex --no-squeezing -n,--length=SIZE -s,--skip=SIZE -e,--format=ANY"""
    ),
    "xxd": Table(
        "-a -b -C -E -e -i -p -ps -plain -u -d -c,-cols=NUMBER -g=NUMBER -l,-len=NUMBER -s=SIGNED -o=NUMBER",
        most=1,
        style=Style.WORDS,
        ends=False,
    ),
    "strings": Table(
        "-[afwd] --all --data --print-file-name --include-all-whitespace -n,--bytes=NUMBER -t,--radix=NAME"
        " -e,--encoding=NAME",
        operands="NOT_AT",
    ),
    "base64": Table("-[d] --decode --ignore-garbage -w,--wrap=NUMBER"),
    "base32": Table("-[d] --decode --ignore-garbage -w,--wrap=NUMBER"),
    "sed": Table("-n", program="LINES", must="-n", style=Style.WORDS),
    "jq": Table(
        """-[rcnseSMCajR] --raw-output --compact-output --null-input --slurp --exit-status --sort-keys
        --monochrome-output --color-output --ascii-output --join-output --raw-input --tab --seq --stream --unbuffered
        --args --jsonargs --indent=NUMBER --arg=NAME+ANY --argjson=NAME+ANY""",
        program="JQ",
        style=Style.FLAGS,
        ends=False,
    ),
}
