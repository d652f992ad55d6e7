"""What confiners do around a command: hold, hide, end and tidy up; with the real things, as far as they are here."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.process import Ended, Ending, Limits, bash_argv, run_process, spawn
from kova_auto.tools.sandbox.confiners import Confiner, OpenConfiner
from kova_auto.tools.sandbox.live import Live
from kova_auto.tools.sandbox.plan import Confinement, Level, Method
from tests.tools.sandbox.breakout import CANARY, LIMITS, Scene, a_scene, git
from tests.tools.sandbox.tries import confiner_of, methods_here

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="confinement needs Linux")
METHODS = methods_here()
with_bwrap = pytest.mark.skipif(Method.BWRAP not in METHODS, reason="bubblewrap is not installed")


@pytest.fixture
def scene() -> Iterator[Scene]:
    with a_scene() as made:
        yield made


async def run(
    confiner: Confiner, confinement: Confinement, script: str, *, limits: Limits = LIMITS, said: Path | None = None
) -> tuple[Ended, Sequence[str]]:
    """Run a script and settle; once it has written to the pipe `said`, it is stopped."""
    token = f"{confinement.temp}-{script}"
    confined = confiner.prepare(confinement, bash_argv(script), token)
    process = await spawn(
        confined.argv, env=confined.env, cwd=confined.cwd, token=token, limits=limits, inherits=confined.inherits
    )
    process.release()
    if said is not None:
        await asyncio.to_thread(said.read_text)
        await process.stop()
    return await process.ended(), confiner.settle(confined)


def hidden_names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if path.name.startswith("."))


@pytest.mark.parametrize("method", METHODS)
async def test_a_command_is_told_where_it_may_write(scene: Scene, method: Method) -> None:
    confinement = scene.confinement(Level.WORKSPACE)
    temp = "/tmp" if method is Method.BWRAP else str(confinement.temp)
    ended, _ = await run(confiner_of(method, Level.WORKSPACE), confinement, "echo $HOME $TMPDIR $XDG_CACHE_HOME; pwd")

    assert ended.output.text() == f"{temp}/home {temp} {confinement.cache}/xdg\n{scene.workspace}\n"


@pytest.mark.parametrize("method", METHODS)
async def test_a_temporary_file_is_there_for_the_next_command_of_the_run(scene: Scene, method: Method) -> None:
    confiner, confinement = confiner_of(method, Level.READING), scene.confinement(Level.READING)
    await run(confiner, confinement, 'echo kept > "$TMPDIR/note"')
    ended, _ = await run(confiner, confinement, 'cat "$TMPDIR/note"')

    assert (ended.output.text(), (confinement.temp / "note").read_text()) == ("kept\n", "kept\n")


@pytest.mark.parametrize("method", METHODS)
async def test_control_files_that_a_command_added_are_told(scene: Scene, method: Method) -> None:
    confiner = confiner_of(method, Level.WORKSPACE)
    ended, aside = await run(
        confiner, scene.confinement(Level.WORKSPACE), "echo x > .npmrc; mkdir .vscode; echo x > mine"
    )

    assert (ended.exit_code, aside) == (0, tuple(str(scene.workspace / name) for name in (".npmrc", ".vscode")))
    assert hidden_names(scene.workspace) == [".git", ".npmrc.refused", ".vscode.refused"]


@pytest.mark.parametrize("method", METHODS)
async def test_a_nested_control_file_is_not_exchanged_with_its_directory(scene: Scene, method: Method) -> None:
    confinement, script = scene.confinement(Level.WORKSPACE), "mv nested aside; mkdir nested; echo x > nested/.envrc"
    _, aside = await run(confiner_of(method, Level.WORKSPACE), confinement, script)

    assert set(aside) >= {str(scene.workspace / "nested/.envrc")}
    assert sorted(path.name for path in (scene.workspace / "nested").iterdir()) == [".envrc.refused"]


@with_bwrap
async def test_a_directory_of_job_files_below_a_root_is_not_written(scene: Scene) -> None:
    jobs = scene.workspace / "jobs"
    jobs.mkdir()
    (jobs / "mine.toml").write_text("kept")
    confinement = replace(scene.confinement(Level.WORKSPACE), job_dirs=(jobs,))
    script = "echo x > jobs/mine.toml; echo x > jobs/evil.toml; mv jobs away; mkdir jobs; echo x > jobs/evil.toml"
    _, aside = await run(confiner_of(Method.BWRAP, Level.WORKSPACE), confinement, script)

    assert (aside, [path.name for path in jobs.iterdir()], (jobs / "mine.toml").read_text()) == (
        (),
        ["mine.toml"],
        "kept",
    )


@pytest.mark.parametrize("method", METHODS)
async def test_job_files_that_a_command_added_to_its_own_root_are_set_aside(scene: Scene, method: Method) -> None:
    confinement = replace(scene.confinement(Level.WORKSPACE), job_dirs=(scene.workspace,))
    confiner = confiner_of(method, Level.WORKSPACE)
    _, aside = await run(confiner, confinement, "echo x > evil.toml; echo x > fine.md")

    assert aside == (str(scene.workspace / "evil.toml"),)
    assert (scene.workspace / "evil.toml.refused").exists()
    assert (scene.workspace / "fine.md").exists()


@with_bwrap
async def test_a_mask_stays_while_another_command_needs_it(scene: Scene) -> None:
    confiner, confinement = confiner_of(Method.BWRAP, Level.WORKSPACE), scene.confinement(Level.WORKSPACE)
    ready, go = scene.workspace / "ready", scene.workspace / "go"
    os.mkfifo(ready)
    os.mkfifo(go)
    long = asyncio.create_task(
        run(confiner, confinement, "echo ready > ready; read < go; mkdir .kova/memory || echo held")
    )
    await asyncio.to_thread(ready.read_text)
    short, _ = await run(confiner, confinement, "mkdir .kova/memory || echo held")
    between = hidden_names(scene.workspace)
    await asyncio.to_thread(go.write_text, "go\n")
    ended, _ = await long

    held = "mkdir: cannot create directory '.kova/memory': Read-only file system\nheld\n"
    texts = [
        each.output.text()
        .replace("\N{LEFT SINGLE QUOTATION MARK}", "'")
        .replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
        for each in (short, ended)
    ]
    assert (texts, between, hidden_names(scene.workspace)) == ([held, held], [".git", ".kova"], [".git"])


@with_bwrap
def test_what_another_command_could_exchange_is_not_mounted(scene: Scene) -> None:
    confiner, confinement = confiner_of(Method.BWRAP, Level.WORKSPACE), scene.confinement(Level.WORKSPACE)
    nested = str(scene.workspace / "nested/.envrc")
    first = confiner.prepare(confinement, bash_argv("true"), "first")
    beside = confiner.prepare(confinement, bash_argv("true"), "beside")
    for confined in (first, beside):
        confiner.settle(confined)
    after = confiner.prepare(confinement, bash_argv("true"), "after")
    confiner.settle(after)

    assert [nested in confined.argv for confined in (first, beside, after)] == [True, False, True]
    assert all(str(scene.workspace / ".git/config") in confined.argv for confined in (first, beside, after))


@with_bwrap
async def test_what_a_killed_service_left_is_settled_by_the_next(scene: Scene) -> None:
    confinement = scene.confinement(Level.WORKSPACE)
    before = hidden_names(scene.workspace)
    confined = confiner_of(Method.BWRAP, Level.WORKSPACE).prepare(confinement, bash_argv("echo x > .npmrc"), "t")
    await run_process(
        confined.argv, env=confined.env, cwd=confined.cwd, token="t", limits=LIMITS, inherits=confined.inherits
    )
    left = hidden_names(scene.workspace)
    aside = Live().leave(confined.controls)

    assert (before, left) == ([".git"], [".git", ".kova", ".npmrc"])
    assert (aside, hidden_names(scene.workspace)) == ((str(scene.workspace / ".npmrc"),), [".git", ".npmrc.refused"])


@pytest.mark.parametrize("level", [Level.READING, Level.WORKSPACE])
@with_bwrap
async def test_no_mount_point_stays_behind(scene: Scene, level: Level) -> None:
    bare = scene.top / "bare"
    bare.mkdir()
    confinement = replace(scene.confinement(level), workspace=bare, cwd=bare)
    ended, _ = await run(confiner_of(Method.BWRAP, level), confinement, "true")

    assert (ended.exit_code, list(bare.iterdir())) == (0, [])


@with_bwrap
async def test_the_environment_is_on_no_command_line(scene: Scene) -> None:
    confinement = scene.confinement(Level.WORKSPACE)
    secret = replace(confinement, env={**confinement.env, "GH_TOKEN": "a-token"})
    confined = confiner_of(Method.BWRAP, Level.WORKSPACE).prepare(secret, bash_argv("true"), "t")

    assert ("a-token" in " ".join(confined.argv), confined.env["GH_TOKEN"]) == (False, "a-token")


@pytest.mark.parametrize("method", METHODS)
async def test_a_confined_command_has_time_to_tidy_up(scene: Scene, method: Method) -> None:
    os.mkfifo(said := scene.workspace / "said")
    script = "trap 'echo tidied; exit 3' TERM; sleep 300 & echo ready > said; wait"
    limits = replace(LIMITS, grace_s=10)
    confiner = confiner_of(method, Level.WORKSPACE)
    ended, _ = await run(confiner, scene.confinement(Level.WORKSPACE), script, limits=limits, said=said)

    assert (ended.ending, ended.exit_code, ended.output.text()) == (Ending.STOPPED, 3, "tidied\n")


def sleepers(how: str) -> set[int]:
    found = subprocess.run(["pgrep", "-f", f"^{how}"], capture_output=True, text=True, check=False)
    return {int(pid) for pid in found.stdout.split()}


@with_bwrap
@pytest.mark.parametrize("stopped", [True, False])
async def test_no_process_of_a_sandbox_outlives_it(scene: Scene, stopped: bool) -> None:
    os.mkfifo(said := scene.workspace / "said")
    sleep = f"sleep 300.{scene.victim.pid}"
    hides = f"/usr/bin/env -i /usr/bin/setsid --fork {sleep}; until pgrep -f '^{sleep}' > pids; do :; done"
    script = f"{hides}; echo ready > said; sleep 300" if stopped else hides
    confiner = confiner_of(Method.BWRAP, Level.WORKSPACE)
    ended, _ = await run(confiner, scene.confinement(Level.WORKSPACE), script, said=said if stopped else None)

    assert (scene.workspace / "pids").read_text().strip().isdecimal()
    assert (ended.ending, sleepers(sleep)) == (Ending.STOPPED if stopped else Ending.EXITED, set())


@pytest.mark.parametrize("method", METHODS)
async def test_a_linked_worktree_can_commit_and_not_change_what_git_runs(scene: Scene, method: Method) -> None:
    tree = scene.home / "tree"
    git(scene.workspace, "worktree", "add", "-q", str(tree))
    confinement = replace(scene.confinement(Level.WORKSPACE), workspace=tree, cwd=tree)
    main = scene.workspace / ".git"
    before = (
        (main / "config").read_bytes(),
        (main / "worktrees/tree/commondir").read_bytes(),
        (tree / ".git").read_bytes(),
    )
    commit = "echo two >> file && git commit -qam two || exit 1"
    tamper = f"""
        cd '{main}'; echo '[a]' >> config; echo /evil > worktrees/tree/commondir; echo x > '{tree}/.git'
        mkdir -p hooks; echo x > hooks/post-commit; mv worktrees/tree worktrees/old
        exit 0"""
    script = commit + tamper if method is Method.BWRAP else commit  # Landlock says that it lacks the rest
    ended, _ = await run(confiner_of(method, Level.WORKSPACE), confinement, script)
    after = (
        (main / "config").read_bytes(),
        (main / "worktrees/tree/commondir").read_bytes(),
        (tree / ".git").read_bytes(),
    )

    assert (ended.exit_code, git(scene.workspace, "log", "-1", "--format=%s", "tree")) == (0, "two\n")
    assert (before, (main / "hooks/post-commit").exists()) == (after, False)


@pytest.mark.parametrize("method", METHODS)
async def test_a_linked_worktree_is_read_and_not_written_where_a_command_only_reads(
    scene: Scene, method: Method
) -> None:
    tree = scene.home / "tree"
    git(scene.workspace, "worktree", "add", "-q", str(tree))
    confinement = replace(scene.confinement(Level.READING), workspace=tree, cwd=tree)
    script = "git log --format=%s -1 && git status --porcelain; git commit -q --allow-empty -m two; git branch new"
    ended, _ = await run(confiner_of(method, Level.READING), confinement, script)
    tips = git(scene.workspace, "for-each-ref", "--format=%(refname:short)").split()

    assert (ended.output.text().splitlines()[0], ended.exit_code != 0, tips) == ("one", True, ["main", "tree"])


@pytest.mark.parametrize("method", METHODS)
async def test_a_planted_pointer_makes_no_hidden_directory_visible(scene: Scene, method: Method) -> None:
    planted = scene.top / "planted"
    planted.mkdir()
    (planted / ".git").write_text(f"gitdir: {scene.home}/.ssh\n")
    confinement = replace(scene.confinement(Level.WORKSPACE), workspace=planted, cwd=planted)
    ended, _ = await run(confiner_of(method, Level.WORKSPACE), confinement, 'cat "$HIDDEN/.ssh/id"')

    assert (ended.exit_code, CANARY in ended.output.text()) == (1, False)


@with_bwrap
async def test_what_is_hidden_inside_a_workspace_stays_hidden(scene: Scene) -> None:
    inside = scene.workspace / "data"
    inside.mkdir()
    (inside / "journal").write_text(CANARY)
    (scene.workspace / "key").write_text(CANARY)
    confinement = replace(scene.confinement(Level.WORKSPACE), hidden=(inside, scene.workspace / "key"))
    script = "cat data/journal; cat key; echo x > data/journal; echo x > key; mv data old; rm -rf data key"
    ended, _ = await run(confiner_of(Method.BWRAP, Level.WORKSPACE), confinement, script)

    assert CANARY not in ended.output.text()
    assert [(inside / "journal").read_text(), (scene.workspace / "key").read_text()] == [CANARY] * 2


@pytest.mark.skipif(Method.LANDLOCK not in METHODS, reason="this kernel has no Landlock")
async def test_landlock_refuses_what_it_cannot_hide(scene: Scene) -> None:
    confinement = replace(scene.confinement(Level.WORKSPACE), hidden=(scene.workspace / "nested",))

    with pytest.raises(ToolFailedError, match="Landlock cannot hide"):
        await run(confiner_of(Method.LANDLOCK, Level.WORKSPACE), confinement, "true")


@pytest.mark.parametrize("method", METHODS)
async def test_programs_below_a_hidden_home_run_where_they_are_named(scene: Scene, method: Method) -> None:
    tool = scene.home / "tools/greet"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho hello\n")
    tool.chmod(0o755)
    confiner, confinement = confiner_of(method, Level.READING), scene.confinement(Level.READING)
    named = replace(confinement, toolchains=(tool.parent,))
    texts = [(await run(confiner, each, f"{tool} 2> /dev/null"))[0].output.text() for each in (confinement, named)]

    assert texts == ["", "hello\n"]


async def test_nothing_is_confined_where_the_operator_says_so(scene: Scene) -> None:
    confinement = replace(scene.confinement(Level.OPEN), env={"PATH": "/usr/bin:/bin", "HOME": str(scene.home)})
    script = 'echo x > ../outside/file; echo $HOME; test -n "$KOVA_AUTO_CALL" && echo marked'
    ended, _ = await run(OpenConfiner(), confinement, script)

    assert (ended.output.text(), (scene.outside / "file").read_text()) == (f"{scene.home}\nmarked\n", "x\n")
    assert OpenConfiner().lacks == ("nothing is confined",)
