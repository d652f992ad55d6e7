"""List what one click must never allow for good, as data, with the words in which a card says why.

The lists are long and blunt: a false hit costs one more question, a miss costs silent execution for as long as the
rule stands. Names are compared in lower case, without their directory and version.

Source: reference on shells, section 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Kind(StrEnum):
    """Say what makes a command too much to allow for good."""

    INTERPRETER = "interpreter"
    RUNNER = "runner"
    BUILDER = "builder"
    EDITOR = "editor"
    PAGER = "pager"
    WRAPPER = "wrapper"
    BUILTIN = "builtin"
    REMOTE = "remote"
    WRITER = "writer"
    SEARCHER = "searcher"
    SCRIPT = "script"
    SUBCOMMAND = "subcommand"
    MULTIPLEXER = "multiplexer"
    NAME = "name"


SAYS: Mapping[Kind, str] = {
    Kind.INTERPRETER: "runs whatever code it is given",
    Kind.RUNNER: "fetches and runs any package",
    Kind.BUILDER: "runs whatever the project's build files say",
    Kind.EDITOR: "can run programs and write files by its own commands",
    Kind.PAGER: "can start any program from within",
    Kind.WRAPPER: "runs any other command",
    Kind.BUILTIN: "is part of the shell and can change what later commands mean",
    Kind.REMOTE: "reaches other machines or containers, and can store or run what they send",
    Kind.WRITER: "deletes or changes what it is pointed at",
    Kind.SEARCHER: "can write files and start programs by its options",
    Kind.SCRIPT: "is a file whose content may change after it was allowed",
    Kind.SUBCOMMAND: "can run any program, or name one that will be run",
    Kind.MULTIPLEXER: "has subcommands of every kind, and a rule would cover them all",
    Kind.NAME: "is not a plain name of a command",
}

_NAMES: Mapping[Kind, str] = {
    Kind.INTERPRETER: """
        sh bash rbash zsh dash ash ksh mksh fish csh tcsh elvish nu xonsh busybox toybox pwsh powershell cmd
        node nodejs deno bun tsx ts-node python py pypy ipython jython ruby irb jruby perl raku php lua
        luajit r rscript groovy groovysh java jshell kotlin scala clojure clj osascript swift dotnet cscript
        wscript tclsh wish expect awk gawk mawk nawk goawk sed gsed ghci runghc runhaskell ocaml julia
        octave erl escript elixir iex racket guile sbcl dart crystal nim m4 dc gnuplot sqlite duckdb psql
        mysql mariadb mongo mongosh nix-shell
    """,
    Kind.RUNNER: "npx pnpx bunx uvx pipx corepack",
    Kind.BUILDER: """
        make gmake bmake nmake remake just task rake thor gradle gradlew mvn mvnw ant sbt lein mix cmake
        ctest ninja samu meson scons bazel bazelisk buck pants tup waf invoke inv fab doit nox tox mage
        earthly vagrant ansible ansible-playbook
    """,
    Kind.EDITOR: """
        vi vim nvim view vimdiff ex ed nano pico emacs emacsclient micro hx kak joe code
    """,
    Kind.PAGER: "less more most man info",
    Kind.WRAPPER: """
        sudo doas su runuser pkexec gosu su-exec env xargs parallel time nohup nice ionice chrt taskset
        cpulimit timeout watch watchexec entr nodemon stdbuf unbuffer setsid script strace ltrace gdb lldb
        valgrind perf hyperfine flock chroot unshare nsenter setpriv capsh systemd-run systemd-inhibit bwrap
        firejail proot fakeroot at batch crontab tmux screen dtach caffeinate dbus-run-session xvfb-run
        start-stop-daemon runcon sg newgrp setarch prlimit numactl rlwrap
    """,
    Kind.BUILTIN: """
        command exec eval source . builtin export declare typeset readonly local set unset shopt trap alias
        unalias hash enable bind complete compgen compopt let read mapfile readarray printf test [ wait kill
        umask ulimit pushd popd dirs fg bg jobs disown suspend history fc logout exit return break continue
        shift getopts times caller type help :
    """,
    Kind.REMOTE: """
        ssh scp sftp sshfs mosh rsh rlogin rsync rclone nc ncat netcat socat telnet ftp lftp tftp curl wget
        aria2c http https xh docker podman nerdctl buildah skopeo kubectl oc helm lxc incus machinectl virsh
        adb
    """,
    Kind.WRITER: """
        rm rmdir unlink shred mv cp install ln link mkdir mkfifo mknod mktemp touch truncate dd tee sponge
        chmod chown chgrp setfacl chattr split csplit patch rename gzip gunzip bzip bunzip xz unxz zstd
        unzstd lz compress uncompress cc gcc g++ c++ clang clang++ ld as rustc ffmpeg magick convert mogrify
        pandoc tex latex pdflatex xelatex lualatex openssl mount umount losetup mkfs fdisk parted wipefs
        swapon systemctl service launchctl killall pkill shutdown reboot halt poweroff useradd usermod
        userdel passwd chsh visudo iptables nft modprobe insmod rmmod sysctl dpkg rpm
    """,
    Kind.SEARCHER: "find gfind fd fdfind tar gtar bsdtar zip unzip cpio pax ar 7z 7za rar unrar",
}
NAMES: Mapping[str, Kind] = {name: kind for kind, names in _NAMES.items() for name in names.split()}

SCRIPT_SUFFIXES = tuple(
    f".{suffix}"
    for suffix in (
        *("sh", "bash", "zsh", "fish", "ksh", "csh", "ps1", "bat", "cmd", "vbs", "command", "run"),
        *("py", "pyw", "pyz", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "rb", "pl", "php", "phar", "lua"),
        *("r", "tcl", "awk", "sed", "groovy", "kts", "jar", "appimage", "so"),
    )
)
# Where programs are that a run cannot change; any other path may lead to a file of the workspace.
SYSTEM_PLACES = ("/bin/", "/sbin/", "/usr/", "/opt/", "/nix/store/", "/snap/bin/")

EVERYWHERE = frozenset(("dlx", "exec"))  # as subcommands of whatever program

_NODE_PACKAGES = "x create init innit config c set explore edit"
_SUBCOMMANDS: Mapping[str, str] = {
    "git": """
        config bisect submodule filter-branch filter-repo rebase difftool mergetool clone daemon instaweb web--browse
        send-email hook maintenance credential credential-cache credential-store fast-import for-each-repo shell
        remote-ext remote-fd http-backend gui
    """,
    "gh": "api alias extension extensions ext auth secret config codespace cs",
    "glab": "api alias auth config",
    "npm": _NODE_PACKAGES,
    "pnpm": _NODE_PACKAGES,
    "yarn": f"{_NODE_PACKAGES} node workspace workspaces plugin",
    "cargo": "run r install init new",
    "go": "run generate tool install",
    "uv": "run tool init",
    "poetry": "run shell init new config self",
    "pdm": "run init new config",
    "hatch": "run shell env new config",
    "pipenv": "run shell",
    "rye": "run shell init config tools",
    "conda": "run init create config",
    "mamba": "run init create config",
    "micromamba": "run create config",
    "pixi": "run shell init global",
    "pip": "config",
    "nix": "run shell develop repl bundle",
    "mise": "x run r shell",
    "asdf": "shell",
    "nvm": "run",
    "rustup": "run",
    "rails": "runner r console c dbconsole db new",
    "bundle": "config console open init",
    "composer": "config global init create-project",
    "brew": "sh irb ruby edit",
    "stack": "run runghc runhaskell ghci script",
    "cabal": "run repl",
    "flutter": "run create",
    "docker-compose": "run up create start restart build watch",
    "terraform": "apply destroy console",
    "tofu": "apply destroy console",
    "pulumi": "up destroy",
    "aws": "configure ssm ecs",
    "gcloud": "compute alpha beta config",
    "az": "vm ssh config",
    "heroku": "run run:detached ps:exec",
    "fly": "ssh console",
    "flyctl": "ssh console",
    "op": "run",
    "doppler": "run",
    "dotenvx": "run",
    "hg": "bisect config serve",
    "jj": "config util fix",
}
SUBCOMMANDS: Mapping[str, frozenset[str]] = {name: frozenset(words.split()) for name, words in _SUBCOMMANDS.items()}
# npm takes any beginning of a subcommand that means one thing; what begins `init` and means `install` is no such.
ABBREVIATING: Mapping[str, frozenset[str]] = {"npm": frozenset(("i", "in", "ins", "s", "se", "e", "ex"))}

_MULTIPLEXERS = """
    apt apt-get dnf yum pacman apk zypper snap flatpak choco gem opam sdk fnm volta pyenv rbenv nx turbo lerna ng vercel
    netlify wrangler firebase supabase svn dvc
"""
MULTIPLEXERS = frozenset(SUBCOMMANDS) | frozenset(_MULTIPLEXERS.split())
