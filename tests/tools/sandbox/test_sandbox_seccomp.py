"""The filter is run here as the kernel would run it, for every machine, whatever this one is."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from kova_auto.tools.sandbox.seccomp import Numbers, inside_name_spaces, numbers, program

ALLOWED, EPERM, ENOSYS = "allowed", "EPERM", "ENOSYS"
MACHINES = ("x86_64", "aarch64", "riscv64")


def verdict(code: bytes, number: int, *arguments: int, architecture: int) -> str:
    """Interpret a filter for one system call."""
    data = struct.pack("<IIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    steps = [struct.unpack("<HBBI", code[at : at + 8]) for at in range(0, len(code), 8)]
    at, held = 0, 0
    while True:
        operation, when_true, when_false, value = steps[at]
        at += 1
        match operation:
            case 0x20:
                (held,) = struct.unpack_from("<I", data, value)
            case 0x15:
                at += when_true if held == value else when_false
            case 0x35:
                at += when_true if held >= value else when_false
            case 0x45:
                at += when_true if held & value else when_false
            case 0x06:
                return {0x7FFF0000: ALLOWED, 0x50001: EPERM, 0x50026: ENOSYS}[value]
            case _:
                raise AssertionError(operation)


def known(machine: str) -> Numbers:
    found = numbers(machine)
    assert found
    return found


def calls(machine: str) -> dict[str, tuple[int, int]]:
    """Return named calls with the first argument that matters."""
    it = known(machine)
    return {
        "read": (0 if machine == "x86_64" else 63, 3),
        "internet": (it.socket, 2),
        "internet 6": (it.socket, 10),
        "netlink": (it.socket, 16),
        "unix": (it.socket, 1),
        "packet": (it.socket, 17),
        "virtual machines": (it.socket, 40),
        "fork": (it.clone, 0x1200011),
        "thread": (it.clone, 0x3D0F00),
        "user name space by clone": (it.clone, 0x10000011),
        "unshare files": (it.unshare, 0x400),
        "user name space by unshare": (it.unshare, 0x10020000),
        "clone3": (435, 0),
        "io_uring": (425, 8),
        "enter a name space": (it.setns, 3),
        "key ring": (it.keyrings[2], 0),
        "x32": (0x40000000 + 41, 2),
    }


ALWAYS = {
    "read": ALLOWED,
    "internet": EPERM,
    "internet 6": EPERM,
    "netlink": EPERM,
    "unix": EPERM,
    "packet": EPERM,
    "virtual machines": EPERM,
    "fork": ALLOWED,
    "thread": ALLOWED,
    "user name space by clone": EPERM,
    "unshare files": ALLOWED,
    "user name space by unshare": EPERM,
    "clone3": ENOSYS,
    "io_uring": ENOSYS,
    "enter a name space": EPERM,
    "key ring": EPERM,
    "x32": EPERM,
}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_lets_through_what_cannot_reach_out(machine: str) -> None:
    it = known(machine)
    code = program(it)
    found = {name: verdict(code, *call, architecture=it.architecture) for name, call in calls(machine).items()}

    assert found == ALWAYS


@pytest.mark.parametrize("machine", MACHINES)
def test_a_foreign_architecture_is_denied_everything(machine: str) -> None:
    assert verdict(program(known(machine)), 3, architecture=0x40000003) == EPERM


CREATES, TEMPORARY, READS = 0o101, 0o20200001, 0o200000
SETUID, SETGID_DIRECTORY, PLAIN = 0o104755, 0o2775, 0o755


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("beside", [program, inside_name_spaces])
def test_no_file_is_left_that_runs_as_its_owner(machine: str, beside: Callable[[Numbers], bytes]) -> None:
    it = known(machine)
    code = beside(it)

    def asked(number: int, **arguments: int) -> str:
        by_index = {int(name[1:]): value for name, value in arguments.items()}
        return verdict(code, number, *(by_index.get(index, 0) for index in range(6)), architecture=it.architecture)

    changes = [*it.modes, (452, 2)]
    assert {asked(call, **{f"a{at}": SETUID}) for call, at in changes} == {EPERM}
    assert {asked(call, **{f"a{at}": mode}) for call, at in changes for mode in (PLAIN, SETGID_DIRECTORY)} == {ALLOWED}
    for call, flags, mode in it.opens:
        made = [asked(call, **{f"a{flags}": how, f"a{mode}": SETUID}) for how in (CREATES, TEMPORARY, READS)]
        assert made == [EPERM, EPERM, ALLOWED]
        assert asked(call, **{f"a{flags}": CREATES, f"a{mode}": PLAIN}) == ALLOWED
    assert asked(437) == ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_inside_name_spaces_only_what_they_do_not_hold_is_denied(machine: str) -> None:
    it = known(machine)
    code = inside_name_spaces(it)
    found = {name: verdict(code, *call, architecture=it.architecture) for name, call in calls(machine).items()}
    denied = {name: answer for name, answer in found.items() if answer != ALLOWED}

    assert denied == {"io_uring": ENOSYS, "key ring": EPERM, "x32": EPERM}
    requests = (0x5412, 0x541C, 0x5401, 0x5413)
    answers = [verdict(code, it.ioctl, 0, request, architecture=it.architecture) for request in requests]
    assert answers == [EPERM, EPERM, ALLOWED, ALLOWED]
    assert verdict(code, 3, architecture=0x40000003) == EPERM


def test_an_unknown_machine_has_no_numbers() -> None:
    assert numbers("vax") is None
