"""A service that is killed between its 202 and the run's opening opens that run, once, at its next start."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from tests.support import ROOT


def test_wherever_a_service_is_killed_what_it_accepted_runs_exactly_once(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.crash.receiver", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    kills = [json.loads(line) for line in done.stdout.splitlines()]
    *killed, (_, last, _, _, _) = kills

    assert [(status, again) for _, status, _, again, _ in killed] == [(signal.SIGKILL, 0)] * len(killed)
    assert last == 0, "it ran out of points before the process ended by itself"
    assert [then[1:] for *_, then in kills] == [["deploy webhook"]] * len(kills)
    # A sender that got no answer repeats itself; one that got one is told so if it does.
    assert [then[0] for _, _, said, _, then in kills if said[:1] == ["202"]] == ["200"] * len(
        [said for _, _, said, _, _ in kills if said[:1] == ["202"]]
    )
    accepted = [kill for kill in killed if kill[2] == ["202"]]
    assert len(accepted) >= 2, "nothing was killed between the answer and the run"
