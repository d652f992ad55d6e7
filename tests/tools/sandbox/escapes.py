"""The ways out, and what must work all the same: each a script, tried at every level where it means something."""

from __future__ import annotations

from dataclasses import dataclass

from kova_auto.tools.sandbox.plan import Level, Method

BOTH = (Method.BWRAP, Method.LANDLOCK)
BWRAP = (Method.BWRAP,)
EVERY = (Level.WORKSPACE, Level.READING)
READING = (Level.READING,)


@dataclass(frozen=True, slots=True)
class Escape:
    """Hold one way out.

    Attributes:
        levels: Where it is tried; the first one also by a plain user.
        methods: The confinements that promise to hold it at `WORKSPACE`; the others say among their lacks that they
            do not.
        reading: The same at `READING`.
        lands_inside: The confinements in which it seems to succeed, in a place of the command's own.
        harmless: It may be tried without any confinement, where it must succeed.
    """

    name: str
    script: str
    levels: tuple[Level, ...] = EVERY
    methods: tuple[Method, ...] = BOTH
    reading: tuple[Method, ...] = BOTH
    lands_inside: tuple[Method, ...] = ()
    harmless: bool = True

    def is_held(self, method: Method, level: Level) -> bool:
        """Say whether a confinement promises to hold it."""
        return method in (self.methods if level is Level.WORKSPACE else self.reading)


def _python(text: str) -> str:
    return f"""/usr/bin/python3 -I -S -c "
import ctypes, fcntl, os, socket, termios
{text}" """


ESCAPES = (
    Escape("write_outside", 'echo x > "$OUT/file"; echo x > "$OUT/new"'),
    Escape("cut_a_file_outside", 'truncate -s 0 "$OUT/file"'),
    Escape("remove_outside", 'rm -f "$OUT/file"'),
    Escape("follow_a_planted_link_out", 'ln -s "$OUT/file" way; echo x > way'),
    Escape("hard_link_a_file_in", 'ln "$OUT/file" inside'),
    Escape("rename_a_file_out", 'echo x > mine; mv mine "$OUT/mine"'),
    Escape("rename_a_file_in", 'mv "$OUT/file" .'),
    Escape("write_the_system", "echo x > /etc/breakout && echo $BROKE; rm -f /etc/breakout", harmless=False),
    Escape("change_a_mode_outside", 'chmod 777 "$OUT/file"', methods=BWRAP, reading=BWRAP),
    Escape(
        "remount_as_uid_0",
        'mount -o remount,rw,bind / ; mount -o remount,rw,bind "$OUT"; umount -l "$OUT"; echo x > "$OUT/file"',
        harmless=False,
    ),
    Escape(
        "remount_the_workspace_while_reading",
        'mount -o remount,rw,bind "$WS"; mount -o remount,rw,bind /; echo x > file',
        READING,
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
    Escape("send_a_datagram", 'echo x > "/dev/udp/127.0.0.1/$UDP"', lands_inside=BWRAP),
    Escape(
        "connect_to_an_abstract_socket",
        _python("socket.socket(socket.AF_UNIX).connect(chr(0) + os.environ['ABSTRACT'])"),
    ),
    Escape(
        "connect_to_a_hidden_socket",
        _python("socket.socket(socket.AF_UNIX).connect(os.environ['STATE'] + '/socket')"),
    ),
    Escape("signal_a_process_outside", 'kill -9 "$VICTIM"'),
    Escape("read_the_state", 'cat "$STATE/journal"'),
    Escape("write_the_state", 'echo x > "$STATE/journal"; echo x > "$STATE/new"'),
    Escape("remove_the_state", 'rm -rf "$STATE"; mv "$STATE" "$STATE.old"'),
    Escape("read_a_hidden_home", 'cat "$HIDDEN/.ssh/id"; cat "$HIDDEN"/.*/*'),
    Escape(
        "read_a_hidden_home_through_proc", 'cat /proc/*/root"$HIDDEN/.ssh/id"; cat "/proc/$VICTIM/root$HIDDEN/.ssh/id"'
    ),
    Escape("link_a_hidden_file_in", 'ln "$HIDDEN/.ssh/id" key; cat key'),
    Escape("read_another_environment", r"cat /proc/[0-9]*/environ | tr '\0' '\n' | grep '^SECRET='"),
    # A pipe there is another test's: whoever opens it takes away what that one waits for.
    Escape(
        "read_the_shared_temporary_directory",
        'cat "$SHARED"; find /tmp -maxdepth 2 -type f -size -64k -exec grep -s "$CANARY" {} +',
    ),
    Escape("write_the_shared_temporary_directory", 'echo x > "$SHARED"', lands_inside=BWRAP),
    Escape("leave_something_in_shared_memory", 'echo x > "$SHM"', lands_inside=BWRAP),
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
        READING,
    ),
    Escape("commit_while_reading", "git commit -q --allow-empty -m two", READING),
    Escape("write_the_cache_while_reading", 'touch "$CACHES/mine/x" && echo $BROKE', READING, harmless=False),
    # Files outside, by other roads.
    Escape(
        "write_through_its_own_root", 'echo x > "/proc/self/root$OUT/file"; echo x > "/proc/thread-self/root$OUT/file"'
    ),
    Escape("write_through_a_descriptor", 'exec 9<"$OUT/file"; echo x > /proc/self/fd/9'),
    Escape("follow_a_planted_directory_out", 'ln -s "$OUT" way; echo x > way/new; touch way/file2; mkdir way/d'),
    Escape("climb_out", 'cd "$WS"; echo x > ../outside/file; cd ..; echo x > outside/new'),
    Escape(
        "exchange_a_file_outside",
        'echo x > "$TMPDIR/x"; mv --exchange "$TMPDIR/x" "$OUT/file" || cp "$TMPDIR/x" "$OUT/file"',
    ),
    Escape(
        "set_the_time_of_a_file_outside",
        'touch -d 2001-01-01 "$OUT/file" && test "$(stat -c %Y "$OUT/file")" -lt 1000000000 && echo $BROKE',
        methods=BWRAP,
        reading=BWRAP,
    ),
    Escape(
        "write_the_host_root_as_a_device",
        "for d in /dev/sd? /dev/vd? /dev/nvme?n?; do test -w $d && echo $BROKE; done; ls /dev/disk",
        harmless=False,
    ),
    Escape("make_a_character_device", "mknod null c 1 3 && echo $BROKE", harmless=False),
    Escape("mount_proc_anew", "mount -t proc proc /proc && echo $BROKE", harmless=False),
    Escape("bind_over_the_workspace", 'mount --bind "$OUT" "$WS" && echo $BROKE', harmless=False),
    Escape("unmount_what_hides", 'umount "$STATE"; umount -l /home; umount -l "$HIDDEN"; cat "$STATE/journal"'),
    Escape("change_the_root", "chroot / /bin/true && echo $BROKE; pivot_root . . && echo $BROKE", harmless=False),
    Escape(
        "enter_the_names_of_another", 'nsenter --target "$VICTIM" --mount --net true && echo $BROKE', harmless=False
    ),
    Escape("enter_the_names_of_the_first", 'nsenter --target 1 --mount cat "$STATE/journal"', harmless=False),
    Escape(
        "open_a_file_by_its_handle",
        _python("""
libc = ctypes.CDLL(None, use_errno=True)
handle = ctypes.create_string_buffer(b'\\x08\\0\\0\\0\\x01\\0\\0\\0\\x02' + bytes(7) + bytes(128))
root = os.open('/', os.O_RDONLY)
if libc.open_by_handle_at(root, handle, os.O_RDONLY) >= 0:
    print(os.environ['BROKE'])
else:
    raise OSError(ctypes.get_errno(), 'no handle')"""),
        harmless=False,
    ),
    Escape(
        "steer_cgroups", "mkdir /sys/fs/cgroup/breakout && echo $BROKE; rmdir /sys/fs/cgroup/breakout", harmless=False
    ),
    Escape("press_a_magic_key", "echo h > /proc/sysrq-trigger && echo $BROKE", harmless=False),
    Escape(
        "write_the_kernels_settings",
        "cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness && echo $BROKE",
        harmless=False,
    ),
    # Other processes.
    Escape(
        "trace_a_process_outside",
        _python("""
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(16, int(os.environ['VICTIM']), 0, 0) == 0:
    print(os.environ['BROKE'])
else:
    raise OSError(ctypes.get_errno(), 'not traced')"""),
        harmless=False,
    ),
    Escape(
        "read_the_memory_of_a_process",
        'head -c 1 "/proc/$VICTIM/mem" && echo $BROKE; cat "/proc/$VICTIM/maps" | grep -q sleep && echo $BROKE',
        harmless=False,
    ),
    Escape("read_where_a_process_stands", 'ls "/proc/$VICTIM/cwd/" "/proc/$VICTIM/fd/" && echo $BROKE', harmless=False),
    Escape("change_the_priority_of_a_process", 'renice -n 5 -p "$VICTIM" && echo $BROKE', methods=BWRAP, reading=BWRAP),
    Escape(
        "change_the_limits_of_a_process",
        'prlimit --pid "$VICTIM" --nofile=10:10 && echo $BROKE',
        methods=BWRAP,
        reading=BWRAP,
        harmless=False,
    ),
    Escape("stop_a_process_group_outside", 'kill -TERM -- "-$VICTIM" "$VICTIM"'),
    Escape(
        "type_for_the_user",
        _python("""
for fd in (os.open('/dev/tty', os.O_RDWR), 0, 1, 2):
    fcntl.ioctl(fd, termios.TIOCSTI, b'x')
print(os.environ['BROKE'])"""),
        harmless=False,
    ),
    Escape(
        "use_what_was_left_open",
        "for f in /proc/$$/fd/*; do case ${f##*/} in 0|1|2|255) ;; *) test -e $f && echo $BROKE ;; esac; done; exit 1",
        harmless=False,
    ),
    Escape(
        "become_somebody_else",
        "su -c true root < /dev/null && echo $BROKE; setpriv --reuid 1 true && echo $BROKE; exit 1",
        (Level.WORKSPACE,),
        harmless=False,
    ),
    Escape(
        "leave_a_program_that_runs_as_its_owner",
        "cp /bin/true t; chmod u+s t; test -u t && echo $BROKE; rm -f t; exit 1",
    ),
    Escape(
        "make_a_program_that_runs_as_its_owner",
        _python("""
os.umask(0)
os.close(os.open(os.environ['TMPDIR'] + '/t', os.O_CREAT | os.O_WRONLY, 0o4755))
print(os.environ['BROKE'])"""),
        harmless=False,
    ),
    Escape(
        "read_a_key_ring",
        _python("""
libc = ctypes.CDLL(None, use_errno=True)
number = {'x86_64': 250}.get(os.uname().machine, 219)
if libc.syscall(number, 0, -3, 0) >= 0:
    print(os.environ['BROKE'])
else:
    raise OSError(ctypes.get_errno(), 'no key ring')"""),
        harmless=False,
    ),
    # The network.
    Escape(
        "connect_to_loopback_as_version_6",
        'echo x > "/dev/tcp/[::ffff:127.0.0.1]/$TCP"; echo x > "/dev/tcp/localhost/$TCP"',
    ),
    Escape(
        "connect_to_a_raw_socket",
        _python("""
socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3).bind(('lo', 0))
socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).sendto(bytes(8), ('127.0.0.1', 0))
import urllib.request
urllib.request.urlopen('http://127.0.0.1:' + os.environ['TCP'], timeout=2)"""),
        harmless=False,
    ),
    Escape(
        "connect_to_the_host_of_a_virtual_machine",
        _python("""
s = socket.socket(socket.AF_VSOCK)
s.settimeout(2)
s.connect((2, 1024))
print(os.environ['BROKE'])"""),
        harmless=False,
    ),
    Escape(
        "talk_to_a_service_manager",
        "test -S /run/dbus/system_bus_socket -o -S /var/run/docker.sock && echo $BROKE; exit 1",
        harmless=False,
    ),
    # What belongs to other workspaces.
    Escape("read_the_cache_of_another_workspace", 'cat "$CACHES/other/wheel"; cat "$CACHES"/*/wheel'),
    Escape("poison_the_cache_of_another_workspace", 'echo x > "$CACHES/other/wheel"; echo x > "$CACHES/other/new"'),
    Escape(
        "poison_a_cache_through_a_link",
        'mkdir -p "$PIP_CACHE_DIR"; ln -s "$CACHES/other" "$PIP_CACHE_DIR/x"; echo x > "$PIP_CACHE_DIR/x/wheel"',
    ),
    Escape(
        "list_what_other_runs_left",
        'ls "$CACHES" "$CACHES/.." | grep -v "^mine$" | grep -q other && echo $BROKE; exit 1',
    ),
    # Control files.
    Escape(
        "link_a_control_file",
        "ln .git/config same && echo '[a]' >> same; ln nested/.envrc env && echo x >> env",
        methods=BWRAP,
    ),
    Escape(
        "add_a_nested_control_file",
        "mkdir -p a/b/.vscode && echo x > a/b/.vscode/tasks.json; echo x > a/.npmrc; echo x > nested/.NPMRC",
    ),
    Escape(
        "add_a_repository_that_runs_something",
        "mkdir lib && cd lib && git init -q . && git config core.fsmonitor 'touch x'",
    ),
    Escape("add_a_pointer_to_another_repository", 'mkdir lib && echo "gitdir: $OUT" > lib/.git'),
    Escape("replace_the_git_directory_by_a_pointer", "rm -rf .git; mv .git g; echo 'gitdir: g' > .git", methods=BWRAP),
    Escape(
        "replace_the_git_directory_by_a_link", "mv -T .git g2; cp -r /etc/skel evil; ln -sfT evil .git", methods=BWRAP
    ),
    Escape("borrow_objects", 'mkdir -p .git/objects/info; echo "$OUT" > .git/objects/info/alternates'),
    Escape("write_our_own_directory_in_another_case", "mkdir .KOVA .Git; echo x > .KOVA/note; echo x > .Git/config"),
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
    Everyday(
        "clone_a_repository_below",
        "git clone -q --no-checkout . copy && cd copy && git log --oneline | grep -q one && git config user.name me",
    ),
    Everyday(
        "add_a_worktree_below",
        "git worktree add -q --no-checkout tree && cd tree && git commit -q --allow-empty -m two",
    ),
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
