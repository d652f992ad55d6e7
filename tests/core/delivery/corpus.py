"""Three hundred notices that break receivers: the same on every machine and in every run."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache

from kova_auto.core.delivery.notice import (
    ApprovalNotice,
    Change,
    Denial,
    Digest,
    EndpointNotice,
    EndpointTest,
    Notice,
    RunReport,
    ScheduleNotice,
)
from kova_auto.core.job import Outcome

AT = datetime(2026, 12, 1, 7, 1, tzinfo=UTC)
MANY = 300
LONGEST = 40_000

MENTIONS = (
    "@everyone @here @channel @all @room @team @online @所有人 @bob @group x@here .@all _@channel "
    "<!channel> <!here> <!everyone> <!subteam^S1|ops> <@U0123ABC> <@!123> <@&123> <#C1|general> "
    "<users/all> <users/123> <at>Bob</at> <at id=all></at> <at user_id=\"all\">all</at> <@all> <@bob> "
    "[@bob](tg://user?id=1) tg://user?id=1 `<!here>` `@everyone` ~general #general /shutdown"
)  # fmt: skip
LINKS = """\
[bank.com](https://evil.org) [https://bank.com/login](https://evil.org/login) [a|b>c](https://e.org/x|y>z)
[x](javascript:alert(1)) [x](tg://user?id=1) [x](file:///etc/passwd) [x](https://bank.com@evil.org) [](https://e.org)
[a](https://e.org/a_(b)_c) [**bold** `code`](https://e.org) ![image](https://e.org/i.png) <https://e.org/?a=b&lt=c>
[(x <#@here>](http://x) [l][r] https://e.org/@everyone mailto:all@here.com <all@e.org> [m](mailto:a@e.org?subject=x)

[r]: https://e.org/reference "title"
"""
FENCES = """\
Output:

````markdown
```bash
echo "`hi`" && cat <<'END' # @here
~~~
END
```
````

- item
  ```
  in a list
  ```
> ```
> in a quote
> ```

``a ` b`` and ``` not a fence ``` and `
"""
TABLE = "| File | Lines | Why |\n| --- | ---: | --- |\n" + "".join(
    f"| `src/file_{n}.py` | {n * 7} | *because* of <{n}> & more, 日本 |\n" for n in range(60)
)
NESTED = "".join(f"{'  ' * depth}- level {depth}\n" for depth in range(12)) + "> " * 8 + "deep\n\n1) one\n2) two\n"
TURNED = "abc \u202egnp.exe\u202c \u2066x\u2069 עברית مرحبا \u200f(1)\u200e end"
UNICODE = (
    "ümläut ñ 日本語 中文 한국어 👩\u200d👩\u200d👧 🏳️\u200d🌈 🇩🇪🇫🇷 e\u0301\u0302 Z\u0351\u036b\u0343 "
    "\u2028 \ufeff \u00ad \U0001d518"
)
BROKEN = (
    "half \ud83d and \udc00, NUL \x00, bell \x07, \x1b[31mred\x1b[0m, \x1b]0;title\x07, DEL \x7f, \x9b1m, \r\nend\r"
)
CODE = "```py\n" + "".join(f"def f{n}(x: list[int]) -> None: print(f'{{x}}', 1 < 2 & 3)\n" for n in range(300)) + "```"
JSON = "{" + ", ".join(f'"key_{n}": ["\\"quoted\\"", "C:\\\\x\\n", null]' for n in range(200)) + "}"
HTML = (
    "<b>bold</b> <script>alert(1)</script> <br/> <!-- c --> &lt;i&gt; &amp;amp; &nbsp;<a href='https://evil.org'>x</a>"
)
PROSE = "The run looked at **each** of the _files_, found `nothing` of note, and ~~stopped~~ went on. "
MARKS = (
    "* _ ~ ` | \\ [ ] ( ) { } < > # + - = . ! $ ^ & \" ' : ; / ? % *a _b ~~c **d __e ||f|| a.b-c!(x) snake_case 2*3*4"
)

SHORT = ("", " ", "plain", MARKS, UNICODE, TURNED, BROKEN, MENTIONS, HTML, "a\nb\r\nc", "```", "**", "`", "x" * 900)
WHOLE = (MENTIONS, LINKS, FENCES, TABLE, NESTED, TURNED, UNICODE, BROKEN, CODE, JSON, HTML, PROSE, MARKS, "", "\n \n")
GROWN = (
    *("x", "日", "👩\u200d👩\u200d👧", "🇩🇪", "e\u0301", "&", "<", '"', "\\", "\n", "\t", "~~", "(((", "&amp;", "_*"),
    *("**x** ", "***a*** ", "`c` ", "`", "- a\n", "1. n\n", "> q\n", "# h\n\np\n\n", "x\n\n", "```\n", "@everyone "),
    *(
        "```\ncode\n```\n",
        "|a|b|\n|-|-|\n|1|2|\n\n",
        "[l](http://e.org/x) ",
        "https://e.org/a_b?c=d ",
        "<!here> ",
        PROSE,
    ),
    "word ",
)


@cache
def corpus() -> tuple[tuple[str, Notice], ...]:
    """Return each notice with a name for messages of failed tests."""
    dice = random.Random("kova-auto")
    kinds: tuple[Callable[[random.Random, str], Notice], ...]
    kinds = (_report, _report, _report, _approval, _approval, _schedule, _endpoint, _digest, _test)
    made: list[tuple[str, Notice]] = [(f"whole-{n}", _report(dice, text)) for n, text in enumerate(WHOLE)]
    # Most are as long as what is taken of a text: a longer one is cut first, and takes as long again to write.
    lengths = [LONGEST if n % 3 == 0 else 6000 for n in range(len(GROWN))]
    made += [(f"grown-{n}", _report(dice, (GROWN[n] * length)[:length])) for n, length in enumerate(lengths)]
    made += [(f"outcome-{outcome}", _report(dice, PROSE, outcome=outcome)) for outcome in Outcome]
    for n in range(MANY - len(made)):
        kind = kinds[n % len(kinds)]
        made.append((f"{n}{kind.__name__}", kind(dice, _text(dice))))
    return tuple(made)


def _text(dice: random.Random) -> str:
    """Return a text that somebody might have meant, or not."""
    return "".join(_parts(dice))[: dice.choice((200, 800, 2000, 5000, LONGEST))].rstrip("\u200d")


def _parts(dice: random.Random) -> Iterator[str]:
    for _ in range(dice.randrange(1, 9)):
        if dice.random() < 0.5:
            yield dice.choice(WHOLE)
        elif dice.random() < 0.7:
            yield dice.choice(GROWN) * dice.choice((1, 3, 40, 300))
        else:
            yield "".join(dice.choices([*SHORT, "\n\n", "\n", " "], k=12))
        yield dice.choice(("\n\n", "\n", " ", ""))


def _report(dice: random.Random, answer: str, **changes: object) -> RunReport:
    short, denials = dice.choice, range(dice.choice((0, 1, 9)))
    fields: dict[str, object] = {
        "run_id": "nightly@20261201T070000Z",
        "job": "nightly",
        "description": short(SHORT),
        "outcome": short(list(Outcome)),
        "scripted": dice.random() < 0.3,
        "model": short(("test/model", "vendor/a-model_2.5", MARKS)),
        "level": "read-only",
        "workspace": short(("/srv/app", "/srv/" + "d/" * 400, UNICODE)),
        "nominal_at": short((None, AT - timedelta(minutes=1))),
        "finished_at": AT,
        "duration_s": dice.random() * 9000,
        "attempts": dice.randrange(1, 4),
        "iterations": dice.randrange(50),
        "tool_calls": dice.randrange(200),
        "denied": tuple(Denial(tool=short(SHORT), reason=short((*SHORT, _text(dice)))) for _ in denials),
        "tokens_in": dice.randrange(10**6),
        "cost_usd": short((None, 0.0123)),
        "answer": answer,
        "reason": short((*SHORT, _text(dice))),
        "partial": dice.random() < 0.2,
        "pauses": short(("", "", "three failures in a row", MENTIONS)),
        "changes": tuple(Change(path=f"{n}/{short(SHORT)}", what="created") for n in range(short((0, 2, 200)))),
        **changes,
    }
    return RunReport.model_validate(fields)


def _approval(dice: random.Random, arguments: str) -> ApprovalNotice:
    short = dice.choice
    return ApprovalNotice(
        run_id="nightly@20261201T070000Z",
        job="nightly",
        call_id="2.1",
        tool=short(("bash", "write", "Question", MARKS)),
        arguments=arguments[:2500],
        reason=short((*SHORT, arguments)),
        rule=short(("", "level.workspace-write.command", MENTIONS)),
        asks=dice.random() < 0.3,
        remembers=tuple(short(SHORT) for _ in range(short((0, 1, 40)))),
        no_offer=short(SHORT),
        proposes=tuple(short(SHORT) for _ in range(short((0, 2)))),
        overwrites=tuple(short(SHORT) for _ in range(short((0, 0, 30)))),
        unreached=short(("", "", "team: it answered 404", MENTIONS)),
        settled=short(("", "", "denied")),
        scripted=dice.random() < 0.3,
        requested_at=AT,
        expires_at=short((None, AT + timedelta(hours=12))),
    )


def _schedule(dice: random.Random, reason: str) -> ScheduleNotice:
    fields: dict[str, object] = {
        "what": dice.choice(("late", "recovered")),
        "job": "nightly",
        "description": dice.choice(SHORT),
        "nominal_at": AT,
        "count": dice.choice((1, 1, 5000)),
        "expected_at": AT + timedelta(hours=1),
        "noticed_at": AT + timedelta(hours=2),
        "late_s": 3600,
        "became": dice.choice(("", "missed (outside_window)", MARKS)),
        "run_id": dice.choice(("", "nightly@20261201T070000Z")),
        "reason": reason,
        "scripted": dice.random() < 0.3,
    }
    return ScheduleNotice.model_validate(fields)


def _endpoint(dice: random.Random, reason: str) -> EndpointNotice:
    fields: dict[str, object] = {
        "what": dice.choice(("disabled", "undelivered", "untrusted", "recovered")),
        "endpoint": dice.choice(("team", MARKS[:60])),
        "happened_at": AT + timedelta(hours=2),
        "since": dice.choice((None, AT)),
        "failures": dice.choice((0, 1, 5000)),
        "reason": reason,
        "delivery_id": dice.choice(("", "msg_abcdefghijklmnopqrstuvwxyz")),
        "run_id": dice.choice(("", "nightly@20261201T070000Z")),
        "job": dice.choice(("", "nightly")),
        "probe_at": dice.choice((None, AT + timedelta(hours=26))),
    }
    return EndpointNotice.model_validate(fields)


def _digest(dice: random.Random, text: str) -> Digest:
    outcomes = {outcome: dice.randrange(1, 200) for outcome in dice.sample(list(Outcome), dice.randrange(1, 10))}
    fields: dict[str, object] = {
        "endpoint": dice.choice(("team", MARKS[:60])),
        "count": sum(outcomes.values()),
        "since": AT,
        "until": AT + timedelta(hours=2),
        "outcomes": outcomes,
        "text": text,
        "scripted": dice.random() < 0.3,
    }
    return Digest.model_validate(fields)


def _test(dice: random.Random, text: str) -> EndpointTest:
    if dice.random() < 0.3:
        return EndpointTest(endpoint="team", sent_at=AT)
    return EndpointTest(endpoint=dice.choice(("team", MARKS[:60])), sent_at=AT, text=text)
