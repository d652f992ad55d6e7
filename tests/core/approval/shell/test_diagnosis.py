"""Which rules reach further than they look, and how it is said."""

from __future__ import annotations

import pytest

from kova_auto.core.approval.shell.diagnosis import Diagnosis, Grade, diagnose


@pytest.mark.parametrize(
    ("grade", "rules"),
    [
        (
            Grade.ANY_CODE,
            [
                *(
                    "python *",
                    "python3.11 *",
                    "/usr/bin/python3 -u *",
                    "python -c 'print(1)' *",
                    "python -m *",
                    "bash *",
                ),
                *("sed *", "sed -n *", "awk '{print}' *", "find *", "tar xf *", "vim *", "less *", "make *", "npx *"),
                *("sudo *", "xargs git log *", "timeout 5 *", "timeout -s KILL 5 *", "env FOO=1 node *", "nice bash *"),
                *("exec *", "eval *", ". *", "[ *", "export *", "hash *", "printf *", "command *"),
                *("git *", "git -C *", "git config *", "npm exec *", "npm *", "npm --prefix web *", "uv run *"),
                *("ssh build *", "curl *", "docker *", "docker run *", "kubectl exec *", "foo dlx *"),
            ],
        ),
        (Grade.WRITES, ["rm *", "cp a *", "sudo rm -rf *", "tee *", "systemctl stop *", "/bin/mv *"]),
        (
            Grade.PROJECT_CODE,
            [
                *(
                    "npm run *",
                    "npm test",
                    "pytest *",
                    "cargo test *",
                    "git log *",
                    "timeout 5 git log *",
                    "make test *",
                ),
                *(
                    "node script.js",
                    "node script.js *",
                    "python -m pytest *",
                    "./run",
                    "./run *",
                    "tools/x.sh *",
                    "make",
                ),
            ],
        ),
        (Grade.NEVER, ["", "*", "git log | head", "git * log", "ls > x", "time *"]),
    ],
)
def test_a_rule_is_graded_by_how_far_it_reaches(grade: Grade, rules: list[str]) -> None:
    assert {rule: found.grade if (found := diagnose(rule)) else None for rule in rules} == dict.fromkeys(rules, grade)


@pytest.mark.parametrize(
    "rule",
    [
        *(
            "ls *",
            "cat *",
            "grep *",
            "docker ps *",
            "kubectl get *",
            "nice ls *",
            "timeout 5 wc *",
            "npm ls *",
            "pip list",
        ),
        *("rm x", "bash -c 'echo a'", "python -c 'print(1)'", "sed -n 1p a.txt", "cargo tree *", "tsc *", "cd *"),
    ],
)
def test_nothing_is_said_of_a_rule_that_shows_what_it_grants(rule: str) -> None:
    assert diagnose(rule) is None


def test_what_is_said_names_the_rule_and_why() -> None:
    assert diagnose("python *") == Diagnosis(
        "python *", Grade.ANY_CODE, "'python *' grants arbitrary code: python runs whatever code it is given."
    )
    assert diagnose("rm *") == Diagnosis(
        "rm *", Grade.WRITES, "'rm *' grants writing past the file tools: rm deletes or changes what it is pointed at."
    )
    assert diagnose("node a.js") == Diagnosis(
        "node a.js",
        Grade.PROJECT_CODE,
        "'node a.js' runs project code: node runs files of the workspace, which a run may change.",
    )
    assert diagnose("pytest *") == Diagnosis(
        "pytest *",
        Grade.PROJECT_CODE,
        "'pytest *' runs project code: pytest runs tests, plug-ins and settings of the workspace, which are code.",
    )
    assert diagnose("") == Diagnosis(
        "",
        Grade.NEVER,
        "'' matches nothing: an empty rule matches nothing; write a command, or the start of one followed by *.",
    )
