"""One file makes one job, or one error that names everything wrong with it."""

from __future__ import annotations

import tomllib
from datetime import timedelta
from pathlib import Path
from textwrap import dedent

import pytest

from kova_auto.core.approval.levels import AutomationLevel, Mode
from kova_auto.core.errors import ConfigError, JobFileError
from kova_auto.core.job import Job, Output, Permissions, ScheduleTable
from kova_auto.core.secret import SecretRef
from kova_auto.scheduling.jobfiles import find_job, load_job, load_jobs

CASES = Path(__file__).parents[1] / "cases" / "broken_jobs.toml"
BROKEN = tomllib.loads(CASES.read_text())["case"]


def job_file(directory: Path, text: str, name: str = "triage.toml") -> Path:
    path = directory / name
    path.write_text(dedent(text))
    return path


def problems_of(path: Path, endpoints: tuple[str, ...] | None = None) -> list[str]:
    with pytest.raises(JobFileError) as caught:
        load_job(path, endpoints=endpoints)
    return [
        problem.sentence.replace(f"{path.parent}/", "").replace(f"{path.parent.parent}/", "../")
        for problem in caught.value.problems
    ]


def test_a_prompt_is_all_that_a_job_needs(tmp_path: Path) -> None:
    path = job_file(tmp_path, 'prompt = "Look around"')
    workspace = str(tmp_path.resolve())
    assert load_job(path) == Job(
        name="triage", path=f"{workspace}/triage.toml", prompt="Look around", workspace=workspace
    )


def test_the_defaults_are_the_careful_ones(tmp_path: Path) -> None:
    job = load_job(job_file(tmp_path, 'prompt = "Look around"'))
    assert (job.mode, job.automation, job.isolation) == (Mode.AGENT, AutomationLevel.READ_ONLY, "in-place")
    assert (job.approval.when_needed, job.permissions, job.schedule) == ("deny", Permissions(), None)
    assert (job.limits.timeout, job.limits.iterations, job.limits.cost_usd) == (timedelta(minutes=20), 50, 1.0)


def test_everything_that_a_job_names_is_resolved(tmp_path: Path) -> None:
    app = tmp_path / "src" / "app"
    app.mkdir(parents=True)
    (tmp_path / "ask.md").write_text("Look at {{ inputs.branch }}\n")
    (tmp_path / "turns.script.toml").write_text("[[turns]]\n")
    path = job_file(
        tmp_path,
        """
        prompt_file = "ask.md"
        workspace = "src/app"
        script = "turns.script.toml"
        [schedule]
        at = 2026-12-24T09:00:00
        [permissions]
        write_roots = ["../lib"]
        [env]
        TOKEN = { file = "token" }
        [inputs]
        branch = "main"
        """,
    )
    job = load_job(path, timezone="Europe/Berlin")
    home = tmp_path.resolve()
    assert (job.prompt, job.workspace, job.script_text) == (
        "Look at {{ inputs.branch }}\n",
        f"{home}/src/app",
        "[[turns]]\n",
    )
    assert job.schedule == ScheduleTable(at="2026-12-24T09:00:00", timezone="Europe/Berlin")
    assert job.permissions == Permissions(write_roots=(f"{home}/src/lib",))
    assert job.env == {"TOKEN": SecretRef(file=f"{home}/token")}
    assert job.inputs["branch"].default == "main"


def test_a_job_is_the_same_after_it_was_written_down(tmp_path: Path) -> None:
    path = job_file(
        tmp_path,
        """
        prompt = "x"
        [schedule]
        at = [2026-12-24T09:00:00Z, "2026-12-25T09:00"]
        [limits]
        cost_usd = 2
        """,
    )
    job = load_job(path).model_copy(update={"output": Output(schema="a.json")})
    assert Job.model_validate_json(job.model_dump_json()) == job


@pytest.mark.parametrize(
    ("limits", "bounds"),
    [("", False), ("tokens = 5", False), ("cost_usd = 1.0", True), ("cost_usd = 0.5", True)],
    ids=["nothing", "another limit", "the default written out", "a ceiling"],
)
def test_a_ceiling_in_money_counts_as_said_where_it_is_written(tmp_path: Path, limits: str, bounds: object) -> None:
    job = load_job(job_file(tmp_path, f'prompt = "x"\n[limits]\n{limits}\n'))

    assert (job.bounds_money, Job.model_validate_json(job.model_dump_json()).bounds_money) == (bounds, bounds)


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case["name"])
def test_a_broken_file_names_everything_wrong_with_it(tmp_path: Path, case: dict[str, str]) -> None:
    assert problems_of(job_file(tmp_path, case["file"])) == case["problems"].splitlines()


def test_behind_a_link_the_name_is_the_links_and_paths_begin_at_the_file(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    path = job_file(repository, 'prompt = "x"', "digest.toml")
    link = tmp_path / "app-digest.toml"
    link.symlink_to(path)
    job = load_job(link)
    assert (job.name, job.path, job.workspace) == ("app-digest", str(path.resolve()), str(repository.resolve()))


def test_a_name_that_no_job_can_have_is_refused(tmp_path: Path) -> None:
    assert problems_of(job_file(tmp_path, 'prompt = "x"', "my job.toml")) == [
        "my job.toml: wanted letters, digits, - and _ before .toml, at most 64, found 'my job' (rename the file)"
    ]


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b'prompt = "gr\xfc\xdfe"')
    assert problems_of(tmp_path / "latin.toml") == ["latin.toml: wanted text in UTF-8, found byte 0xfc at 12"]
    (tmp_path / "huge.toml").write_bytes(b"#" * (1 << 20) + b"#")
    assert problems_of(tmp_path / "huge.toml") == ["huge.toml: wanted at most 1 MiB of text, found more"]
    assert problems_of(tmp_path / "none.toml") == ["none.toml: wanted a text file, found nothing"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("x = " + "[" * 100_000, "it is nested too deep", id="deep"),
        pytest.param("[limits]\niterations = " + "9" * 5000, "it holds a number that is too long", id="long number"),
    ],
)
def test_a_file_that_the_parser_itself_cannot_take_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "odd.toml"
    path.write_text(text)

    with pytest.raises(JobFileError) as caught:
        load_job(path)
    assert str(caught.value) == f"{path}: wanted TOML: {complaint}"


def test_an_endpoint_must_be_in_the_settings_where_these_are_known(tmp_path: Path) -> None:
    path = job_file(tmp_path, 'prompt = "x"\n[[notify]]\nendpoint = "team-slak"\n[approval]\nnotify = ["ci"]')
    assert load_job(path).notify[0].endpoint == "team-slak"
    assert problems_of(path, endpoints=("team-slack",)) == [
        "triage.toml:3: notify[0].endpoint: no endpoint is called 'team-slak' (did you mean team-slack?)",
        "triage.toml:5: approval.notify[0]: no endpoint is called 'ci' (known here: team-slack)",
    ]


def test_one_broken_file_does_not_hide_the_others(tmp_path: Path) -> None:
    job_file(tmp_path, 'prompt = "x"', "b.toml")
    job_file(tmp_path, "prompt = 1", "a.toml")
    job_file(tmp_path, 'prompt = "x"', "c.toml")
    for name in ("c.script.toml", ".hidden.toml", "kova-auto.toml", "notes.md"):
        job_file(tmp_path, "no job", name)
    jobs, errors = load_jobs(tmp_path)
    assert [job.name for job in jobs] == ["b", "c"]
    assert [(Path(error.path).name, error.line, error.key) for error in errors] == [("a.toml", 1, "prompt")]


def test_a_directory_that_is_not_there_says_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_jobs(tmp_path / "jobs")
    assert str(caught.value) == (
        f"{tmp_path}/jobs: jobs_dir: wanted a directory of job files: No such file or directory"
        " (kova-auto init writes settings and a first job)"
    )


def test_a_job_is_found_by_name_or_by_file(tmp_path: Path) -> None:
    path = job_file(tmp_path, 'prompt = "x"')
    assert find_job("triage", tmp_path) == path
    assert find_job("elsewhere/x.toml", tmp_path) == Path("elsewhere/x.toml")
    with pytest.raises(ConfigError) as caught:
        find_job("traige", tmp_path)
    assert caught.value.sentence == (
        f"{tmp_path}: wanted the name of a job or a file, found no job 'traige' (did you mean triage?)"
    )


def test_what_is_wrong_with_a_timetable_is_named_with_its_line(tmp_path: Path) -> None:
    path = job_file(
        tmp_path,
        """
        prompt = "x"
        [schedule]
        cron = "0 9 * * SAT"
        start = 2027-01-01
        end = 2026-01-01
        exclude = { weekdays = ["SUN", "Samstag"], calendars = ["holidays"] }
        """,
    )
    with pytest.raises(JobFileError) as caught:
        load_job(path, calendars={"fairs": frozenset()})
    found = [(problem.line, problem.key, problem.hint) for problem in caught.value.problems]
    assert (6, "schedule.end", "the end is not included") in found
    assert (7, "schedule.exclude.weekdays[1]", "one of MON, TUE, WED, THU, FRI, SAT, SUN") in found
    assert (7, "schedule.exclude.calendars[0]", "known here: fairs") in found


@pytest.mark.parametrize(("zone", "said"), [("UTC", True), ("Europe/Berlin", False)])
def test_an_interval_that_is_always_excluded_is_found_in_the_zone_of_the_settings(
    tmp_path: Path, zone: str, *, said: bool
) -> None:
    # In Berlin, what comes at 09:00 in winter comes at 10:00 in summer.
    grid = 'every = "24h"\nanchor = "2026-01-01T09:00"\nexclude = { hours = ["09:00-10:00"] }'
    path = job_file(tmp_path, f'prompt = ""\n[schedule]\n{grid}')
    with pytest.raises(JobFileError) as caught:
        load_job(path, timezone=zone)
    assert ("found every one excluded" in str(caught.value)) is said


def test_a_schema_is_checked_as_its_job_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "fit.json").write_text('{"type": "strin", "$ref": "https://example.org/x.json"}')
    path = job_file(tmp_path, 'prompt = "Look."\noutput.schema = "fit.json"\n')

    where = "triage.toml:2: output.schema: fit.json: at /type"
    assert problems_of(path) == [f"{where}: 'strin' is not valid under any of the given schemas"]


def test_a_sound_schema_is_part_of_the_job(tmp_path: Path) -> None:
    (tmp_path / "fit.json").write_text('{"type": "object"}')
    job = load_job(job_file(tmp_path, 'prompt = "Look."\noutput.schema = "fit.json"\n'))

    assert job.schema_text == '{"type": "object"}'


def test_checks_are_commands(tmp_path: Path) -> None:
    text = 'prompt = "Look."\noutput.checks = ["make check", " ", "a\\u0000b"]\n'

    assert problems_of(job_file(tmp_path, text)) == [
        "triage.toml:2: output.checks[1]: wanted a command, found only blanks",
        "triage.toml:2: output.checks[2]: a command cannot hold NUL",
    ]


def test_checks_are_refused_in_a_mode_that_runs_no_commands(tmp_path: Path) -> None:
    path = job_file(tmp_path, 'prompt = "Look."\nmode = "ask"\noutput.checks = ["true"]\n')
    [problem] = problems_of(path)

    assert problem.startswith('triage.toml:3: output.checks: mode = "ask" runs no commands, and these are commands')


def test_there_are_not_too_many_checks(tmp_path: Path) -> None:
    checks = ", ".join(['"true"'] * 21)
    [problem] = problems_of(job_file(tmp_path, f'prompt = "Look."\noutput.checks = [{checks}]\n'))

    assert problem.startswith("triage.toml:2: output.checks: wanted at most 20 commands, found 21")
