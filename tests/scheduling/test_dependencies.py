"""Jobs that wait for one another are checked together, and what is wrong is named where a file says so."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from kova_auto.core.job import Job, ScheduleTable
from kova_auto.scheduling.book import JobBook
from kova_auto.scheduling.dependencies import dependency_errors
from kova_auto.scheduling.jobfiles import load_jobs


def job(directory: Path, name: str, after: str = "") -> Job:
    path = directory / f"{name}.toml"
    path.write_text(f'prompt = "x"\n{f"[schedule]{chr(10)}after = {after}" if after else ""}')
    schedule = tomllib.loads(path.read_text()).get("schedule")
    table = ScheduleTable.model_validate(schedule) if schedule else None
    return Job(name=name, path=str(path), prompt="x", workspace="/", schedule=table)


def said(directory: Path, *jobs: Job, known: tuple[str, ...] = ()) -> dict[str, list[str]]:
    errors = dependency_errors(jobs, {*(one.name for one in jobs), *known})
    return {
        name: [problem.sentence.removeprefix(f"{directory}/") for problem in error.problems]
        for name, error in errors.items()
    }


def test_jobs_that_wait_for_others_are_sound(tmp_path: Path) -> None:
    jobs = job(tmp_path, "fetch"), job(tmp_path, "build", '[{ job = "fetch" }, { job = "broken" }]')
    assert said(tmp_path, *jobs, known=("broken",)) == {}


def test_an_unknown_job_is_named_with_file_line_and_key(tmp_path: Path) -> None:
    after = '[\n  { job = "fetch" },\n  { job = "fetsch" },\n  { job = "zzz", on = "any" },\n]'
    assert said(tmp_path, job(tmp_path, "fetch"), job(tmp_path, "build", after)) == {
        "build": [
            "build.toml:5: schedule.after[1].job: no job is called 'fetsch' (did you mean fetch?)",
            "build.toml:6: schedule.after[2].job: no job is called 'zzz' (known here: build, fetch)",
        ]
    }


def test_a_circle_is_spelled_out_in_each_file_that_is_part_of_it(tmp_path: Path) -> None:
    jobs = [job(tmp_path, name, f'[{{ job = "{parent}" }}]') for name, parent in (("a", "b"), ("b", "a"), ("c", "a"))]
    circle = "wanted jobs that do not wait for themselves, found"
    assert said(tmp_path, *jobs) == {
        "a": [f"a.toml:3: schedule.after[0].job: {circle} a after b after a (leave one out)"],
        "b": [f"b.toml:3: schedule.after[0].job: {circle} b after a after b (leave one out)"],
    }


def test_a_file_that_is_gone_since_is_named_without_a_line(tmp_path: Path) -> None:
    build = job(tmp_path, "build", '[{ job = "build" }]')
    Path(build.path).unlink()
    assert said(tmp_path, build) == {
        "build": [
            (
                "build.toml: schedule.after[0].job: wanted jobs that do not wait for themselves,"
                " found build after build (leave one out)"
            )
        ]
    }


def file(directory: Path, name: str, parent: str = "") -> Path:
    path = directory / f"{name}.toml"
    after = f'[schedule]\nafter = [{{ job = "{parent}" }}]\n' if parent else ""
    path.write_text(f'prompt = "x"\n{after}')
    return path


def a_circle(directory: Path) -> None:
    for name, parent in (("a", "b"), ("b", "a"), ("c", "a"), ("d", "")):
        file(directory, name, parent)


def test_of_a_directory_the_jobs_of_a_circle_are_not_loaded_and_named(tmp_path: Path) -> None:
    a_circle(tmp_path)
    jobs, errors = load_jobs(tmp_path)

    assert [one.name for one in jobs] == ["c", "d"]
    assert [str(error).partition(": schedule.after")[0] for error in errors] == [
        f"{tmp_path}/a.toml:3",
        f"{tmp_path}/b.toml:3",
    ]


def test_a_service_runs_no_job_of_a_circle_until_it_is_broken_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    a_circle(tmp_path)
    book = JobBook(tmp_path, timezone="UTC", endpoints=())
    book.refresh()
    assert [one.name for one in book.jobs] == ["c", "d"]
    assert sum("do not wait for themselves" in line for line in caplog.messages) == 2

    book.refresh()
    assert sum("do not wait for themselves" in line for line in caplog.messages) == 2
    file(tmp_path, "b", "d")
    book.refresh()
    assert [one.name for one in book.jobs] == ["a", "b", "c", "d"]
