"""What "allow and remember" would store, what it never stores, and what the card says of it."""

from __future__ import annotations

import pytest

from kova_auto.core.approval.shell.lexer import lex
from kova_auto.core.approval.shell.refusal import Refused, say
from kova_auto.core.approval.shell.remember import Offer, Offered, Uncovered, offer
from kova_auto.core.approval.shell.unrememberable import NAMES, SAYS, SUBCOMMANDS, Kind


# Reference on the original, section 11.1.
@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("pnpm add -D react", ["pnpm add *"]),
        ("git log --oneline", ["git log *"]),
        ("cat package.json", ["cat *"]),
        ("ls -la", ["ls *"]),
        ("git checkout .", ["git checkout *"]),
        ("pnpm test", ["pnpm test *"]),
        ("npm run build", ["npm run *"]),
        ("cargo test", ["cargo test *"]),
        ("git log --oneline | head -20", ["git log *", "head *"]),
        ("git log --oneline && node evil.js", ["git log *"]),
        ("pnpm add -D react && node evil.js", ["pnpm add *"]),
        ("(cd frontend && ls -la)", ["ls *"]),
        ("cd DIR && cat a.ts", ["cat *"]),
        ("a1 && a2 && a3 && a4 && a5 && a6 && a7", ["a1 *", "a2 *", "a3 *", "a4 *", "a5 *"]),
        ("for f in a b; do ls $f; done", []),
        ("npm test &&", []),
        *((command, []) for command in ("bash run-tests.sh", "bash scripts/deploy.sh prod", "sh -c 'x'")),
        *((command, []) for command in ("node script.js", "python -m http.server", "ruby -e 'x'")),
        *((command, []) for command in ("npx --yes PKG", "pnpm dlx PKG add button", "npm exec -- pkg")),
        *((command, []) for command in ("eval ls", "env FOO=1 node x.js", "sudo rm -rf X", "xargs ls")),
        *((command, []) for command in ("ssh host uptime", "docker run alpine sh", "rm -rf X", "cp a b")),
        *((command, []) for command in ("chmod 777 f", "find . -exec rm {} +", "sed -i s/a/b/ f")),
        *((command, []) for command in ("echo 'unclosed", "echo x \\", "echo $'it\\'s' ; rm X")),
    ],
)
def test_a_command_is_remembered_as(command: str, rules: list[str]) -> None:
    assert list(offer(command).texts) == rules


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("date +%s", "date *"),
        ("echo A=b", "echo *"),
        ("head 20", "head *"),
        ('grep "foo" x', "grep *"),
        ("ls $HOME", "ls *"),
        ("ls ~", "ls *"),
        ("ls s*", "ls *"),
        ("npm run-script build", "npm run-script *"),
        ("npm i lodash", "npm i *"),
        ("npm test:unit", "npm test:unit *"),
        ("2>/dev/null ls -la", "ls *"),
        ("/usr/bin/git log", "/usr/bin/git log *"),
        ("docker-compose ps", "docker-compose ps *"),
        ("git --version; git log", "git log *"),
    ],
)
def test_a_second_word_that_looks_like_a_subcommand_is_kept(command: str, rule: str) -> None:
    assert offer(command).texts == (rule,)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_no_listed_name_is_remembered_however_it_is_written(name: str) -> None:
    spellings = [name, name.upper(), f"/usr/bin/{name}", f"/usr/local/bin/{name.upper()}", f"{name}.exe"]
    spellings += [f"{name}-12", f"/opt/bin/{name}-3.11", *([f"{name}3.11", f"{name}2"] if name[-1].isalpha() else [])]
    for spelling in spellings:
        for rest in ("", " x", " -x", " build"):
            assert offer(f"{spelling}{rest}").texts == (), spelling


@pytest.mark.parametrize(
    ("name", "subcommand"), [(name, word) for name, words in sorted(SUBCOMMANDS.items()) for word in sorted(words)]
)
def test_no_subcommand_that_runs_anything_is_remembered(name: str, subcommand: str) -> None:
    for command in (f"{name} {subcommand}", f"/usr/bin/{name} {subcommand} x", f"{name.upper()} {subcommand.upper()}"):
        assert offer(command).texts == ()


@pytest.mark.parametrize("name", sorted(SUBCOMMANDS))
def test_no_bare_multiplexer_is_remembered(name: str) -> None:
    for rest in ("", " -v", " --prefix d test", " $SUB", " 'log'", " ./x"):
        assert offer(f"{name}{rest}").texts == ()


@pytest.mark.parametrize(
    "command",
    [
        *(
            "anything exec x",
            "yarn dlx x",
            "foo dlx",
            "npm x y",
            "npm exe y",
            "npm exec y",
            "npm conf y",
            "npm creat y",
        ),
        *("uv tool run x", "cargo r", "go run .", "pip3.12 config list", "git-2.39 -c x log"),
    ],
)
def test_no_way_round_a_subcommand_is_remembered(command: str) -> None:
    assert offer(command).texts == ()


@pytest.mark.parametrize(
    "command",
    [
        *("./script", "scripts/run", "../tool x", "run.sh a", "x.py", "/tmp/tool", "/home/ann/w/tool", "/usr/../tmp/x"),
        *("./gradlew build", ".venv/bin/pytest", "node_modules/.bin/tsc", "/opt/x/run.SH", "TOOL.Py"),
    ],
)
def test_no_file_that_a_run_can_change_is_remembered(command: str) -> None:
    assert offer(command).texts == ()


@pytest.mark.parametrize("command", ["FOO=1 npm test", "git log > f", "echo $(id)", "npm test &", "", "x | while y"])
def test_a_command_that_is_not_read_is_not_remembered_and_the_card_says_why(command: str) -> None:
    read = lex(command)
    assert isinstance(read, Refused)
    assert offer(command) == Offer(why_not=f"This approval is for this one time. {say(read)}")


def test_the_card_says_which_parts_stay_uncovered_and_which_rules_run_project_code() -> None:
    assert offer("cd web && npm test && sudo ls && cat x.txt") == Offer(
        rules=(
            Offered("npm test *", "runs scripts of package.json and of the packages that it installs"),
            Offered("cat *"),
        ),
        uncovered=(Uncovered("sudo ls", "sudo runs any other command"),),
    )


def test_at_most_five_rules_are_stored_and_the_rest_is_said_to_stay_uncovered() -> None:
    made = offer("a && b && c && d && e && a x && f")
    assert made.texts == ("a *", "b *", "c *", "d *", "e *")
    assert made.uncovered == (Uncovered("f", "at most 5 rules are stored at once"),)


def test_a_card_without_rules_says_why_and_that_it_is_for_once() -> None:
    assert offer("node a; node b; rm c").why_not == (
        "This approval is for this one time, because node runs whatever code it is given; and rm deletes or changes "
        "what it is pointed at."
    )
    assert offer("git -C d log").why_not == (
        "This approval is for this one time, because git has subcommands of every kind, and a rule would cover them "
        "all."
    )
    assert offer("sh a; sudo b; npx c; rm d; cp e").why_not == (
        "This approval is for this one time, because sh runs whatever code it is given; and sudo runs any other "
        "command; and npx fetches and runs any package; and 2 more."
    )
    assert offer("cd /tmp").why_not == "This approval is for this one time: cd needs no rule."


def test_a_part_that_another_rule_covers_is_not_said_to_stay_uncovered() -> None:
    assert offer("ls && ls exec") == Offer(rules=(Offered("ls *"),))


def test_a_cd_that_needs_a_rule_is_said_to_stay_uncovered() -> None:
    assert offer("cd -e x && ls").uncovered == (Uncovered("cd -e x", "cd passes only in its plain form: cd DIRECTORY"),)


@pytest.mark.parametrize(
    ("command", "runs_project_code"),
    [
        *((command, True) for command in ("npm run x", "pnpm add x", "cargo test", "pytest -q", "git checkout .")),
        *(
            (command, True)
            for command in ("git log", "eslint .", "go test ./...", "pip3 install x", "/usr/bin/git log")
        ),
        *((command, False) for command in ("ls", "npm ls", "cargo tree", "pip list", "grep x y", "go env", "tsc -p .")),
    ],
)
def test_a_rule_that_runs_project_code_is_labelled(command: str, *, runs_project_code: bool) -> None:
    assert [bool(rule.project_code) for rule in offer(command).rules] == [runs_project_code]


def test_each_kind_has_its_words_and_no_name_is_listed_in_capitals() -> None:
    assert SAYS.keys() == set(Kind)
    assert all(name == name.casefold() for name in NAMES)
