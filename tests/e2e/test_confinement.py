"""Whole runs whose commands are confined: what each level and setting lets them do, and what comes of the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.scenes import Scene
from tests.tools.sandbox.here import with_bwrap

ROUND = 'mkdir made && echo "made by a loop" > made/it; for i in 1 2; do echo $i >> made/it; done; cat made/it'
OUT = "echo x > ../elsewhere; cat ../.config/kova-auto/jobs/other.toml ../other/plan; echo x > .npmrc; exit 3"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path.resolve())


def calling(command: str) -> str:
    return f"""
[[turns]]
[[turns.calls]]
id = "it"
tool = "bash"
args = {{ command = '''{command}''' }}
[[turns]]
text = "{{{{ results.it.status }}}}: {{{{ results.it.text }}}}"
"""


def answered(scene: Scene, command: str, more: str) -> str:
    scene.scripted("look", calling(command), more)
    return scene.run("run", "look").stdout


CONFINED = 'automation = "workspace-write"\n[permissions]\ncommands = "confined"\n'
FULL = 'automation = "full"\n'


@with_bwrap
@pytest.mark.parametrize("more", [CONFINED, FULL])
def test_anything_that_fits_the_box_runs_unasked(scene: Scene, more: str) -> None:
    assert answered(scene, ROUND, more).startswith("ok: made by a loop\n1\n2\n")
    assert (scene.workspace / "made/it").exists()


@pytest.mark.parametrize(
    "more",
    [
        'automation = "workspace-write"\n',
        'automation = "read-only"\n[permissions]\ncommands = "confined"\n',
    ],
)
def test_without_that_word_it_is_refused_and_the_model_told(scene: Scene, more: str) -> None:
    assert answered(scene, ROUND, more).startswith("denied: Running this command needs a person's approval")
    assert not (scene.workspace / "made").exists()


@with_bwrap
@pytest.mark.parametrize("more", [CONFINED, FULL])
def test_what_does_not_fit_the_box_fails_and_is_told(scene: Scene, more: str) -> None:
    (scene.path / "other").mkdir()
    (scene.path / "other/plan").write_text("the plan of another")
    scene.job("other", f'prompt = "x"\nworkspace = "{scene.path}/other"\ndescription = "a job of another"\n')
    told = answered(scene, OUT, more)

    assert told.startswith("error: ")
    assert "[exit code 3]" in told
    assert "[commands may not add control files: renamed, with .refused at the end:" in told
    assert ("the plan of another" in told, "a job of another" in told) == (False, False)
    assert not (scene.path / "elsewhere").exists()


@with_bwrap
def test_what_only_reads_changes_nothing(scene: Scene) -> None:
    more = 'automation = "read-only"\n[permissions]\nallow_commands = ["touch *", "cat *"]\n'

    assert answered(scene, "touch made.txt", more).startswith("error: touch: cannot touch")
    assert not (scene.workspace / "made.txt").exists()


@with_bwrap
def test_a_host_that_is_not_listed_is_refused_and_named(scene: Scene) -> None:
    asks = (
        'exec 3<>/dev/tcp/127.0.0.1/3128; printf "CONNECT evil.example:443 HTTP/1.0\\r\\n\\r\\n" >&3; cat <&3; exit 1'
    )
    more = f'{CONFINED}network = ["pypi.example", "*.npmjs.example:443"]\n'
    told = answered(scene, asks, more)

    assert "HTTP/1.1 403 Forbidden" in told
    assert "[network: evil.example is not listed in [permissions] network]" in told


@with_bwrap
def test_a_loopback_address_is_refused_where_any_public_host_is_reached(scene: Scene) -> None:
    asks = 'exec 3<>/dev/tcp/127.0.0.1/3128; printf "CONNECT 127.0.0.1:8443 HTTP/1.0\\r\\n\\r\\n" >&3; cat <&3; exit 1'
    told = answered(scene, asks, f'{CONFINED}network = "on"\n')

    assert "[network: 127.0.0.1 is or answers with a loopback address, which must not be connected to]" in told
