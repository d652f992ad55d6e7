"""What a confined command can do, and that what it cannot do holds for a plain user too; all tried for real.

That no escape succeeds, at any level, and that the model is told so: `tests/tools/test_command_escapes.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kova_auto.tools.sandbox.plan import Level, Method
from tests.tools.sandbox.breakout import a_scene, attempt
from tests.tools.sandbox.escapes import ESCAPES, EVERYDAY, Escape, Everyday
from tests.tools.sandbox.tries import confiner_of, methods_here, try_escape, try_everyday

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="confinement needs Linux")

PLAIN_USER = 65534

ALLOWED = [
    pytest.param(everyday, method, id=f"{method}-{everyday.name}") for method in methods_here() for everyday in EVERYDAY
]


def test_this_machine_has_a_confinement() -> None:
    assert methods_here()


@pytest.mark.parametrize("escape", [pytest.param(one, id=one.name) for one in ESCAPES if one.harmless])
async def test_the_escape_succeeds_where_nothing_is_confined(escape: Escape) -> None:
    assert await try_escape(escape, Method.NONE) != ""


@pytest.mark.parametrize(("everyday", "method"), ALLOWED)
async def test_an_everyday_command_works(everyday: Everyday, method: Method) -> None:
    assert await try_everyday(everyday, method) == ""


@pytest.mark.parametrize("method", methods_here())
@pytest.mark.parametrize("base", ["/tmp", "/var/tmp"])
async def test_a_workspace_below_a_hidden_directory_works(method: Method, base: str) -> None:
    commit = next(one for one in EVERYDAY if one.name == "commit_everything")

    assert await try_everyday(commit, method, in_home=True, base=Path(base)) == ""


@pytest.mark.parametrize("method", methods_here())
async def test_what_lies_beside_such_a_workspace_stays_hidden(method: Method) -> None:
    with a_scene(in_home=True) as scene:
        script = 'cat "$HIDDEN/.ssh/id"; echo x > "$HIDDEN/new"; echo x > ../new; ls ..; mv "$WS" "$HIDDEN/elsewhere"'
        ended = await attempt(scene, confiner_of(method, Level.WORKSPACE), Level.WORKSPACE, script)

        assert scene.escaped(ended.output.text(), level=Level.WORKSPACE) == ""


@pytest.fixture(scope="module")
def for_everybody() -> Iterator[Path]:
    """Yield a copy of the code that any user may read."""
    top = Path(tempfile.mkdtemp(prefix="everybody-"))
    here = Path(__file__)
    only_code = shutil.ignore_patterns("__pycache__", "*.pyc")
    shutil.copytree(here.parents[3] / "kova_auto", top / "kova_auto", ignore=only_code)
    shutil.copytree(here.parent, top / "tests/tools/sandbox", ignore=only_code)
    for path in (top, *top.rglob("*")):
        path.chmod(0o755)
    yield top
    shutil.rmtree(top)


def _python_for(user: int) -> str | None:
    """Return an interpreter that a user may run."""
    asks = "import sys; sys.exit(sys.version_info < (3, 11))"
    for python in (str(Path(sys.executable).resolve()), "/usr/bin/python3"):
        try:
            done = subprocess.run([python, "-I", "-S", "-c", asks], user=user, group=user, extra_groups=[], check=False)
        except OSError:
            continue
        if done.returncode == 0:
            return python
    return None


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests run as a plain user already")
def test_all_of_this_holds_for_a_plain_user(for_everybody: Path) -> None:
    python = _python_for(PLAIN_USER)
    if python is None:
        pytest.skip("no interpreter that a plain user may run")
    done = subprocess.run(
        [python, "-S", "-W", "error", str(for_everybody / "tests/tools/sandbox/tries.py")],
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "PYTHONPATH": str(for_everybody), "LC_ALL": "C.UTF-8"},
        user=PLAIN_USER,
        group=PLAIN_USER,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )

    assert (json.loads(done.stdout or "null"), done.stderr) == ({}, "")
