"""What a run is shown besides its prompt stands where it belongs, and what it is not shown is said."""

from __future__ import annotations

from kova_auto.core.approval.levels import Mode
from kova_auto.core.context.briefing import NOTHING, Briefing, prompt_parts
from kova_auto.core.context.prompt import DISCIPLINE, Surroundings, system_prompt
from kova_auto.core.ids import blob_hash
from kova_auto.core.message import ImagePart, TextPart
from kova_auto.core.schedule.zone import parse_zone
from kova_auto.core.source import Source, SourceKind
from tests.support import at

PLACE = Surroundings(
    workspace="/srv/app", system="Linux", model="test/model", now=at("06:00:00"), zone=parse_zone("UTC")
)
FULL = Briefing(memory="(memory)", digest="(digest)", servers="(servers)", skills="(skills)", instructions="(agents)")
MISSING = Source(kind=SourceKind.MENTION, name="@a.md", problem="there is no a.md")
SHOWN = Source(kind=SourceKind.MENTION, name="@b.md", chars=7)
IMAGE = ImagePart(blob=blob_hash(b"image"), media_type="image/png")


def test_the_passages_of_the_system_prompt_stand_in_an_order_that_never_changes() -> None:
    prompt = system_prompt(Mode.ASK, PLACE, FULL, attended=False)

    wanted = [DISCIPLINE, "Answer the question.", "(memory)", "(digest)", "(servers)", "(skills)", "(agents)", "Date: "]
    places = [prompt.index(passage) for passage in wanted]
    assert places == sorted(places)


def test_the_working_directory_is_the_last_line_whatever_else_is_to_be_known() -> None:
    place = Surroundings(**{**{name: getattr(PLACE, name) for name in PLACE.__slots__}, "notices": ("Mind the step.",)})

    lines = system_prompt(Mode.AGENT, place, FULL, attended=False).splitlines()
    assert lines[-2:] == ["Mind the step.", "Working directory: /srv/app"]


def test_a_run_that_is_shown_nothing_more_has_its_prompt_alone() -> None:
    assert prompt_parts("Go.", NOTHING) == (TextPart(text="Go."),)
    assert system_prompt(Mode.AGENT, PLACE, NOTHING, attended=False) == system_prompt(Mode.AGENT, PLACE, attended=False)


def test_what_is_shown_stands_behind_the_prompt_and_what_is_not_is_said_last() -> None:
    brief = Briefing(behind=(TextPart(text="(file)"), IMAGE), sources=(SHOWN, MISSING))

    assert prompt_parts("Go.", brief) == (
        TextPart(text="Go."),
        TextPart(text="(file)"),
        IMAGE,
        TextPart(text="[mention @a.md is not shown: there is no a.md]"),
    )


def test_nothing_of_a_briefing_but_its_images_is_left_unredacted() -> None:
    secret = "hunter2"
    brief = Briefing(
        *(secret,) * 5,
        behind=(TextPart(text=secret), IMAGE),
        sources=(Source(kind=SourceKind.MENTION, name=secret, problem=secret),),
        taints=secret,
        lacks=secret,
    )

    clean = brief.redacted(lambda text: text.replace(secret, "[redacted]"))
    assert secret not in repr(clean)
    assert clean.behind == (TextPart(text="[redacted]"), IMAGE)
    assert repr(clean).count("[redacted]") == 10


def test_two_briefings_are_joined_passage_by_passage() -> None:
    one = Briefing(memory="a", instructions="x", behind=(IMAGE,), sources=(SHOWN,), reads={"/a": blob_hash(b"a")})
    other = Briefing(
        memory="b", digest="y", sources=(MISSING,), remarks=("Mind.",), blobs=(b"i",), taints="t", lacks="l"
    )

    assert one.plus(other) == Briefing(
        memory="a\n\nb",
        digest="y",
        instructions="x",
        behind=(IMAGE,),
        sources=(SHOWN, MISSING),
        remarks=("Mind.",),
        blobs=(b"i",),
        reads={"/a": blob_hash(b"a")},
        taints="t",
        lacks="l",
    )
    assert FULL.plus(NOTHING) == NOTHING.plus(FULL) == FULL
