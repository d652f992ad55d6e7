"""Which commands only read, and which only look as if they did."""

from __future__ import annotations

import pytest

from kova_auto.core.approval.safe import hardened, listed, read_only, stays_below


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("git log", "git log"),
        ("git log --oneline -n 20 --since='2 days ago' --author=ann -- src", "git log"),
        ("git log -5 -p --stat=80 -M90 -U5 --format='%h %s' HEAD~3..HEAD", "git log"),
        ("git log -L 10,20:src/app.py", "git log"),
        ("git show HEAD:pyproject.toml", "git show"),
        ("git diff --cached --name-status main...HEAD", "git diff"),
        ("git status -sb --porcelain=v2 -uno", "git status"),
        ("git branch -avv", "git branch"),
        ("git branch --contains=HEAD --format='%(refname:short)'", "git branch"),
        ("git tag", "git tag"),
        ("git tag -l 'v*' --sort=-creatordate", "git tag"),
        ("git --no-pager --no-optional-locks log -1", "git log"),
        ("git stash show -p", "git stash show"),
        ("git rev-parse --abbrev-ref HEAD", "git rev-parse"),
        ("git ls-files -z --others --exclude-standard", "git ls-files"),
        ("git blame -L 1,9 README.md", "git blame"),
        ("git shortlog -sne HEAD", "git shortlog"),
        ("git describe --tags --abbrev=0", "git describe"),
        ("git cat-file -p HEAD", "git cat-file"),
        ("git stash list", "git stash list"),
        ("git reflog -n 5", "git reflog"),
        ("git reflog show HEAD", "git reflog show"),
        ("git remote -v", "git remote"),
        ("ls -la --color=never src", "ls"),
        ("head -40 README.md", "head"),
        ("tail -n +20 a.txt", "tail"),
        ("wc -l a.txt b.txt", "wc"),
        ("cat -n a.txt", "cat"),
        ("grep -rn --include='*.py' -C3 -e 'def ' src", "grep"),
        ("rg -l -g '!dist' TODO", "rg"),
        ("find . -maxdepth 2 -type f -name '*.py'", "find"),
        ("sort -t, -k2,2n -u a.csv", "sort"),
        ("uniq -c a.txt", "uniq"),
        ("cut -d , -f 1,3 a.csv", "cut"),
        ("date -u '+%F %T'", "date"),
        ("echo 'a > b'", "echo"),
        ("sed -n '1,20p' a", "sed"),
        ("jq -rc '.a[]' a", "jq"),
        ("cat a | sort | uniq -c | sort -rn", "cat, sort, uniq"),
        ("git log; ls 2>/dev/null && (pwd)", "git log, ls, pwd"),
        ("cd src && ls", "cd, ls"),
    ],
)
def test_a_command_that_only_reads_is_known_by_name(command: str, name: str) -> None:
    assert read_only(command) == name


@pytest.mark.parametrize(
    "command",
    [
        "git log --output=x",
        "git log --output x",
        "git log --outpu=x",
        "git log -- --output=x",
        "git log --grep --output=x",
        "git log --ext-diff",
        "git log --textconv",
        "git log -Oorder",
        "git log --show-signature",
        "git log --format='%h %G?'",
        "git log --pretty=%+GS",
        "git diff --no-index a b",
        "git show --ext-dif HEAD",
        "git -c core.pager=x log",
        "git -C other log",
        "git --git-dir=x log",
        "git --paginate log",
        "'git' log",
        "git 'log'",
        "git lo",
        "git status -v",
        "git branch new",
        "git branch -D main",
        "git branch -aD main",
        "git branch -m a b",
        "git branch --contains main new",
        "git branch --format='%(signature)'",
        "git branch --sort=signature",
        "git tag v1",
        "git tag -l -d v1",
        "git tag -d v1",
        "git tag -a v1",
        "git rev-parse --parseopt",
        "git ls-files --exclude-from=x",
        "git blame --contents x y",
        "git blame -S x y",
        "git cat-file --textconv HEAD:a",
        "git cat-file --batch",
        "git remote add a b",
        "git stash",
        "git stash drop",
        "git reflog expire --all",
        "git reflog delete HEAD",
        "git grep -Ox a",
        "git fetch",
        "ls --hyperlink='a b'",
        "tail -f a",
        "tail --follow a",
        "tail -n5f a",
        "head -n -5 a",
        "wc --files0-from=x",
        "grep --inc=x a",
        "rg --pre ./x a",
        "rg --pre=./x a",
        "rg --hostname-bin ./x a",
        "rg -z a",
        "rg -nz a",
        "find . -delete",
        "find . -exec x ;",
        "find . -fprint x",
        "find . -ok x",
        "find . -name a -delete",
        "sort -o x a",
        "sort -ox a",
        "sort -no x a",
        "sort a -o x",
        "sort --output=x a",
        "sort -T x a",
        "sort --compress-program=x a",
        "sort --files0-from=x",
        "uniq a b",
        "uniq -f 1 a b",
        "date -s 2020-01-01",
        "date --set=2020-01-01",
        "date 010203042020",
        "pwd x",
        "whoami x",
        "hostname x",
        "env ls",
        "xargs ls",
        "awk 1 a",
        "tee a",
        "/bin/ls",
        "./ls",
        "cat /proc/self/environ",
        "cat ../../proc/self/environ",
        "cat -- /proc/1/environ",
        "grep -f/proc/self/environ a",
        "head /dev/zero",
        "git log; touch x",
        "ls *",
        "",
    ],
)
def test_anything_that_could_do_more_is_not_known(command: str) -> None:
    assert read_only(command) is None


@pytest.mark.parametrize(
    "command",
    [
        "cat a/b.txt",
        "git log main..next",
        "git diff a...b -- src/x",
        "grep 'a/b' c",
        "cat a | sort < b 2>/dev/null",
        "cd src && ls *.py",
        "diff /dev/null a",
    ],
)
def test_a_command_may_be_seen_to_stay_below_its_directory(command: str) -> None:
    assert stays_below(command)


@pytest.mark.parametrize(
    "command",
    [
        "cat /etc/passwd",
        "cat ../x",
        "cat a/../../x",
        "grep -f/x a",
        "ls --ignore=/x",
        "ls ..",
        "cat a | cat /etc/passwd",
        "cat a; cat < ../x",
        "ls ':/'",
        "grep -f../x a",
        "grep -if/x a",
        "cat ~/x",
        "cat $HOME/x",
        "cat /usr/*",
        "cat ../*",
        "cat .*/x",
        "cd && ls",
        "cd / && ls",
        "cat 'a",
        "npm view react",
        "gh pr list",
    ],
)
def test_a_command_may_look_outside_its_directory(command: str) -> None:
    assert not stays_below(command)


@pytest.mark.parametrize(
    "command", ["cat a*", "cat ./*", "cat src/*.py", "cat -- *", "cat /usr/*/x", "ls -d src/?[a-c]/*"]
)
def test_a_wildcard_that_no_option_begins_like_is_an_operand(command: str) -> None:
    assert read_only(command)


@pytest.mark.parametrize(
    "command",
    [
        "cat *",
        "cat ?a",
        "cat [-x]a",
        "cat a* -*",
        "cat -- -*",
        "cat /*/x",
        "cat /p*/self/environ",
        "cat -- /p*/self/environ",
        "cat ./.*/x",
        "cat a/../*",
        "cat 'a'*",
        "cat $X*",
        "cat ~/*",
        "cat /proc/*/environ",
        "head -n 1* a",
        "uniq a*",
        "find -- *",
        "cd /usr && cat p*",
    ],
)
def test_a_wildcard_that_could_become_more_than_names_of_files_is_none(command: str) -> None:
    assert read_only(command) is None


def test_behind_a_cd_only_what_asks_no_settings_is_known() -> None:
    assert [
        read_only(f"cd src && {command}") for command in ("ls", "grep a b", "git log", "npm ls", "node --version")
    ] == [
        "cd, ls",
        "cd, grep",
        None,
        None,
        None,
    ]
    assert read_only("git log && cd src && ls") == "git log, cd, ls"


def test_each_part_is_judged_where_it_stands() -> None:
    assert listed("git log | less; cd $X && git log; ls") == ("git log", None, None, None, "ls")
    assert listed("git log 'a") == ()


@pytest.mark.parametrize(
    ("rules", "command", "wanted"),
    [
        ((), "sed -n 1,20p a", True),
        (("sed -n 1,20p *",), "sed -n 1,20p a", True),
        (("sed -n 1,20p a",), "sed -n 1,20p a", True),
        (("sed -n *",), "sed -n 1,20p a", False),
        (("sed *",), "sed -n 1,20p a", False),
        (("cat *", "sed *"), "cat a | sed -n 1p", False),
        (("jq *",), "jq . a", False),
        (("git log *", "sed *"), "git log --oneline", True),
        (("git log *",), "git log --output=x", False),
        (("*", "", "sed ' *"), "sed -n 1p a", True),
    ],
)
def test_a_rule_that_leaves_the_program_open_hardens_nothing(
    rules: tuple[str, ...], command: str, *, wanted: bool
) -> None:
    assert hardened(rules, command) is wanted
