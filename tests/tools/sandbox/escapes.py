"""The ways out, and what must work all the same: each a script, with the level it is tried at."""

from __future__ import annotations

from dataclasses import dataclass

from kova_auto.tools.sandbox.plan import Level, Method

BOTH = (Method.BWRAP, Method.LANDLOCK)
BWRAP = (Method.BWRAP,)


@dataclass(frozen=True, slots=True)
class Escape:
    """Hold one way out.

    Attributes:
        methods: The confinements that promise to hold it; the others say among their lacks that they do not.
        harmless: It may be tried without any confinement, where it must succeed.
    """

    name: str
    script: str
    level: Level = Level.WORKSPACE
    methods: tuple[Method, ...] = BOTH
    harmless: bool = True


ESCAPES = (
    Escape("write_outside", 'echo x > "$OUT/file"; echo x > "$OUT/new"'),
    Escape("write_outside_while_reading", 'echo x > "$OUT/file"', Level.READING),
    Escape("cut_a_file_outside", 'truncate -s 0 "$OUT/file"'),
    Escape("remove_outside", 'rm -f "$OUT/file"'),
    Escape("follow_a_planted_link_out", 'ln -s "$OUT/file" way; echo x > way'),
    Escape("hard_link_a_file_in", 'ln "$OUT/file" inside'),
    Escape("rename_a_file_out", 'echo x > mine; mv mine "$OUT/mine"'),
    Escape("rename_a_file_in", 'mv "$OUT/file" .'),
    Escape("write_the_system", "echo x > /etc/breakout && echo $BROKE; rm -f /etc/breakout", harmless=False),
    Escape("change_a_mode_outside", 'chmod 777 "$OUT/file"', methods=BWRAP),
    Escape(
        "remount_as_uid_0",
        'mount -o remount,rw,bind / ; mount -o remount,rw,bind "$OUT"; umount -l "$OUT"; echo x > "$OUT/file"',
        harmless=False,
    ),
    Escape(
        "remount_the_workspace_while_reading",
        'mount -o remount,rw,bind "$WS"; mount -o remount,rw,bind /; echo x > file',
        Level.READING,
        harmless=False,
    ),
    Escape("make_a_device", "mknod disk b 254 0 && echo $BROKE", harmless=False),
    Escape(
        "steer_the_kernel",
        "cat /proc/sys/kernel/core_pattern | tee /proc/sys/kernel/core_pattern > /dev/null && echo $BROKE",
        harmless=False,
    ),
    Escape("write_through_another_process", 'echo x > "/proc/$VICTIM/root$OUT/file"; echo x > "/proc/1/root$OUT/file"'),
    Escape("create_a_user_name_space", "unshare --user true && echo $BROKE", harmless=False),
    Escape(
        "mount_in_a_user_name_space",
        'unshare --user --map-root-user --mount sh -c "mount -t tmpfs x /tmp && echo $BROKE"',
        harmless=False,
    ),
    Escape("connect_to_loopback", 'echo x > "/dev/tcp/127.0.0.1/$TCP"'),
    Escape("connect_to_loopback_while_reading", 'echo x > "/dev/tcp/127.0.0.1/$TCP"', Level.READING),
    Escape("send_a_datagram", 'echo x > "/dev/udp/127.0.0.1/$UDP"'),
    Escape(
        "connect_to_an_abstract_socket",
        '''/usr/bin/python3 -I -S -c "
import os, socket
socket.socket(socket.AF_UNIX).connect(chr(0) + os.environ['ABSTRACT'])"''',
    ),
    Escape(
        "connect_to_a_hidden_socket",
        '''/usr/bin/python3 -I -S -c "
import os, socket
socket.socket(socket.AF_UNIX).connect(os.environ['STATE'] + '/socket')"''',
    ),
    Escape("signal_a_process_outside", 'kill -9 "$VICTIM"'),
    Escape("read_the_state", 'cat "$STATE/journal"'),
    Escape("read_the_state_while_reading", 'cat "$STATE/journal"', Level.READING),
    Escape("write_the_state", 'echo x > "$STATE/journal"; echo x > "$STATE/new"'),
    Escape("remove_the_state", 'rm -rf "$STATE"; mv "$STATE" "$STATE.old"'),
    Escape("read_a_hidden_home", 'cat "$HIDDEN/.ssh/id"; cat "$HIDDEN"/.*/*'),
    Escape(
        "read_a_hidden_home_through_proc", 'cat /proc/*/root"$HIDDEN/.ssh/id"; cat "/proc/$VICTIM/root$HIDDEN/.ssh/id"'
    ),
    Escape("link_a_hidden_file_in", 'ln "$HIDDEN/.ssh/id" key; cat key'),
    Escape("read_another_environment", r"cat /proc/[0-9]*/environ | tr '\0' '\n' | grep '^SECRET='"),
    Escape("read_the_shared_temporary_directory", 'cat "$SHARED"; grep -r "$CANARY" /tmp'),
    Escape("write_the_shared_temporary_directory", 'echo x > "$SHARED"'),
    Escape("leave_something_in_shared_memory", 'echo x > "$SHM"'),
    Escape("move_git_away", "mv .git g2", methods=BWRAP),
    Escape(
        "move_git_away_and_make_another",
        "mv .git g2; mkdir .git; cp -r g2/. .git; echo '[a]' >> .git/config",
        methods=BWRAP,
    ),
    Escape(
        "edit_the_git_config",
        "echo '[a]' >> .git/config; git config a.b c; cp .git/config c; mv c .git/config",
        methods=BWRAP,
    ),
    Escape(
        "create_a_git_hook",
        "mkdir -p .git/hooks; echo 'touch x' > .git/hooks/post-commit; chmod +x .git/hooks/post-commit",
        methods=BWRAP,
    ),
    Escape(
        "replace_the_git_hooks", "mv .git/hooks .git/old; mkdir .git/hooks; touch .git/hooks/post-commit", methods=BWRAP
    ),
    Escape(
        "replace_the_git_attributes",
        "mv .git/info .git/old; mkdir .git/info; echo x > .git/info/attributes",
        methods=BWRAP,
    ),
    Escape(
        "point_git_to_another_config",
        "cp -r .git evil; echo '[core] fsmonitor = touch x' >> evil/config; echo ../evil > .git/commondir",
    ),
    Escape("add_a_worktree_config", "echo '[core]' > .git/config.worktree"),
    Escape("write_our_own_directory", "mkdir -p .kova/memory; echo x > .kova/memory/note"),
    Escape("add_a_control_file", "echo x > .npmrc; echo x > AGENTS.md; mkdir .vscode; echo x > .vscode/tasks.json"),
    Escape("add_a_workflow", "mkdir -p .github/workflows; echo x > .github/workflows/ci.yml"),
    Escape("edit_a_nested_control_file", "echo x > nested/.envrc; rm nested/.envrc; mv nested/.envrc a", methods=BWRAP),
    Escape(
        "write_the_workspace_while_reading",
        "echo x > file; echo x > new; mkdir d; rm file; mv file other",
        Level.READING,
    ),
    Escape("commit_while_reading", "git commit -q --allow-empty -m two", Level.READING),
    Escape("write_the_cache_while_reading", 'touch "$WS/../cache/x" && echo $BROKE', Level.READING),
)


@dataclass(frozen=True, slots=True)
class Everyday:
    """Hold something that commands do every day; it works if the script ends with 0."""

    name: str
    script: str
    level: Level = Level.WORKSPACE


EVERYDAY = (
    Everyday("read_the_log", "git log --oneline | grep -q one && git status --porcelain", Level.READING),
    Everyday("search", "grep -rq one . && ls -la && cat file", Level.READING),
    Everyday("make_a_temporary_file", 'echo x > "$(mktemp)" && echo y > "$HOME/.rc"', Level.READING),
    Everyday(
        "use_the_cache_while_reading", 'mkdir -p "$XDG_CACHE_HOME" && echo x > "$XDG_CACHE_HOME/f"', Level.READING
    ),
    Everyday("read_a_read_root", 'grep -q "as it was" "$OUT/file"', Level.READING),
    Everyday("write_a_file", "echo two >> file && mkdir -p a/b && mv file a/b/ && rm -r a"),
    Everyday(
        "commit_everything", 'echo two > new && git add -A && git commit -qm two && test -z "$(git status --porcelain)"'
    ),
    Everyday(
        "commit_on_a_branch", "git checkout -qb topic && echo two > file && git commit -qam two && git stash list"
    ),
    Everyday("make_a_repository_below", "mkdir lib && cd lib && git init -q . && git commit -q --allow-empty -m one"),
    Everyday("fill_the_cache", 'mkdir -p "$PIP_CACHE_DIR" && echo x > "$PIP_CACHE_DIR/wheel"'),
    Everyday("write_a_write_root", 'echo x > "$WS/../shared-lib/x" || echo x > "$HIDDEN/../shared-lib/x"'),
    Everyday("use_a_shell_pipe", "seq 1000 | sort -rn | head -3 | tail -1 | grep -qx 998"),
    Everyday("print_to_a_device", "echo x > /dev/null && echo y > /dev/stdout && head -c 8 /dev/urandom | wc -c"),
    Everyday(
        "run_threads_and_pairs",
        """/usr/bin/python3 -I -S -c "
import asyncio, tempfile
tempfile.TemporaryFile().write(b'x')
print(asyncio.run(asyncio.to_thread(sum, [1, 2])))" """,
    ),
)
