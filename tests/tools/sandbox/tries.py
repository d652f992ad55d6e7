"""Try the escapes and the everyday as whoever runs this. Run as a script, it prints what went wrong as JSON."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from kova_auto.tools.sandbox import landlock, seccomp
from kova_auto.tools.sandbox.confiners import BwrapConfiner, Confiner, LandlockConfiner, OpenConfiner
from kova_auto.tools.sandbox.live import Live
from kova_auto.tools.sandbox.plan import Level, Method
from kova_auto.tools.sandbox.select import find_bwrap
from tests.tools.sandbox.breakout import a_scene, attempt
from tests.tools.sandbox.escapes import ESCAPES, EVERYDAY, Escape, Everyday


def confiner_of(method: Method, level: Level) -> Confiner:
    """Return a confiner as the service would make it, proved or not."""
    if method is Method.BWRAP:
        program = find_bwrap()
        assert program is not None
        return BwrapConfiner(program, Live())
    if method is Method.LANDLOCK:
        numbers = seccomp.numbers()
        assert numbers is not None
        return LandlockConfiner(Path(sys.executable).resolve(), landlock.abi(), numbers, level, Live())
    return OpenConfiner()


def methods_here() -> tuple[Method, ...]:
    """Return the methods that this machine has, working or not."""
    has_landlock = not landlock.why_not(landlock.abi(), seccomp.numbers())
    found = {Method.BWRAP: find_bwrap() is not None, Method.LANDLOCK: has_landlock}
    return tuple(method for method, here in found.items() if here)


async def try_escape(escape: Escape, method: Method) -> str:
    """Return how somebody got out at the escape's first level, empty where nobody did."""
    level = escape.levels[0]
    with a_scene() as scene:
        ended = await attempt(scene, confiner_of(method, level), level, escape.script)
        return scene.escaped(ended.output.text(), level=level)


async def try_everyday(everyday: Everyday, method: Method, *, in_home: bool = False, base: Path | None = None) -> str:
    """Return what went wrong, empty where nothing did."""
    with a_scene(in_home=in_home, base=base) as scene:
        left = sorted(path.name for path in scene.workspace.iterdir() if path.name.startswith("."))
        ended = await attempt(scene, confiner_of(method, everyday.level), everyday.level, f"set -e\n{everyday.script}")
        litter = sorted(path.name for path in scene.workspace.iterdir() if path.name.startswith("."))
        if ended.exit_code == 0 and litter == left:
            return ""
        return f"exit code {ended.exit_code}, left {litter}: {ended.output.text()}"


async def main() -> None:
    """Try everything that this machine's methods promise, a few at a time."""
    tries = {
        f"{method}: {one.name}": try_escape(one, method)
        for method in methods_here()
        for one in ESCAPES
        if one.is_held(method, one.levels[0])
    }
    tries |= {f"{method}: {one.name}": try_everyday(one, method) for method in methods_here() for one in EVERYDAY}
    few = asyncio.Semaphore(3)

    async def tried(name: str) -> str:
        async with few:
            return await tries[name]

    went = zip(tries, await asyncio.gather(*map(tried, tries)), strict=True)
    print(json.dumps({name: how for name, how in went if how}))


if __name__ == "__main__":
    asyncio.run(main())
