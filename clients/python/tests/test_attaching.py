import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT
from processes import PROMOTION, started
from promotion import decide
from service import Server, push, running, token

from retrial.access import Access, AccessError, is_local
from retrial.attaching import AttachError, attach

COMMAND = [sys.executable, str(PROMOTION)]


@pytest.fixture
def server(retrial: Path, tmp_path: Path) -> Iterator[Server]:
    with running(retrial, tmp_path) as it:
        yield it


def attached_to(server: Server, name: str) -> dict[str, str]:
    return {"RETRIAL_ATTACH": server.address, "RETRIAL_ATTACH_NAME": name}


def test_a_run_by_two_that_came_by_themselves(server: Server) -> None:
    push(server)
    with started(COMMAND, attached_to(server, "stable")) as stable, started(COMMAND, attached_to(server, "next")) as candidate:
        stable.says(f"promotion is attached to {server.address} as stable, instance i-")
        candidate.says("is attached to")
        assert server.cli("checkers", "describe", "next").startswith("promotion 1.0.0\n")
        run = ["run", "--set", "memory-promotion", "--baseline", "stable", "--candidate", "next"]
        blocked = server.cli(*run, "--candidate-param", "max_age_days=14", status=1)
        assert "confirmed  200 of 200 by the baseline" in blocked
        assert blocked.rstrip().endswith("release blocked: 17 fixtures flipped")
        assert server.cli(*run, "--release", "v1", "--quiet") == "release passed: 200 of 200 fixtures agree\n"
        for process in (stable, candidate):
            process.signal(signal.SIGTERM)
            assert process.status() == 0
        assert server.instances("stable") == server.instances("next") == 0


def test_two_instances_of_one_build_share_a_name(server: Server) -> None:
    with started(COMMAND, attached_to(server, "next")) as one, started(COMMAND, attached_to(server, "next")) as two:
        one.says("is attached")
        two.says("is attached")
        assert server.instances("next") == 2
        one.signal(signal.SIGKILL)
        server.has(1, "next")


def test_a_name_that_is_not_admitted_ends_it(server: Server) -> None:
    with started(COMMAND, attached_to(server, "other")) as process:
        assert process.status() == 1
        assert "retrial: attach 'other': PERMISSION_DENIED: " in process.said
        assert "attach_allow" in process.said


def test_it_comes_again_when_it_was_cut_off(retrial: Path, tmp_path: Path, short: Path) -> None:
    address = f"unix:{short / 's'}"
    with started(COMMAND, {"RETRIAL_ATTACH": address, "RETRIAL_ATTACH_NAME": "next"}) as process:
        process.says("; trying again")
        with running(retrial, tmp_path, address) as server:
            process.says("is attached to")
            server.process.signal(signal.SIGKILL)
            server.process.status()
        process.says("; trying again", times=2)
        with running(retrial, tmp_path, address):
            process.says("is attached to", times=2)
            process.signal(signal.SIGINT)
            assert process.status() == 0


def test_it_is_told_to_stop_while_nobody_is_there(short: Path) -> None:
    with started(COMMAND, {"RETRIAL_ATTACH": f"unix:{short / 's'}", "RETRIAL_ATTACH_NAME": "next"}) as process:
        process.says("; trying again")
        process.signal(signal.SIGTERM)
        assert process.status() == 0


def test_over_tls_with_a_token(retrial: Path, tmp_path: Path) -> None:
    registrar, reader = token(retrial, tmp_path, "runner", "registrar"), token(retrial, tmp_path, "bob", "reader")
    with running(retrial, tmp_path, secure=True) as server:
        environment = attached_to(server, "next") | {"RETRIAL_CA": str(tmp_path / "ca.pem")}
        with started(COMMAND, environment | {"RETRIAL_TOKEN": registrar}) as process:
            process.says("is attached")
            server.has(1, "next", reader)
        for wrong, says in ((reader, "PERMISSION_DENIED"), ("retrial_wrong", "UNAUTHENTICATED")):
            with started(COMMAND, environment | {"RETRIAL_TOKEN": wrong}) as process:
                assert process.status() == 1
                assert says in process.said
                assert wrong not in process.said
        with started(COMMAND, environment | {"RETRIAL_CA": "system", "RETRIAL_TOKEN": registrar}) as process:
            process.says("; trying again")  # an authority that the system does not trust
        with started(COMMAND, environment | {"RETRIAL_CA": str(tmp_path / "none.pem")}) as process:
            assert process.status() == 1
            assert "none.pem" in process.said


def test_in_a_thread_of_another_program(server: Server) -> None:
    stop, attached = threading.Event(), threading.Event()
    ended: list[bool] = []
    thread = threading.Thread(
        target=lambda: ended.append(attach(decide, server.address, "next", stop, attached=lambda _: attached.set(), workers=2))
    )
    thread.start()
    assert attached.wait(30)
    assert server.instances("next") == 1
    stop.set()
    thread.join(30)
    assert ended == [True]
    assert server.instances("next") == 0


def test_the_server_ends_it(server: Server) -> None:
    attached = threading.Event()
    errors: list[AttachError] = []

    def run() -> None:
        try:
            attach(decide, server.address, "next", threading.Event(), attached=lambda _: attached.set())
        except AttachError as e:
            errors.append(e)

    thread = threading.Thread(target=run)
    thread.start()
    assert attached.wait(30)
    server.process.signal(signal.SIGTERM)
    thread.join(30)
    assert len(errors) == 1
    assert not errors[0].final


def test_a_token_in_the_clear_stays_on_this_machine() -> None:
    with pytest.raises(AccessError, match="in the clear"):
        Access(token="t").channel("10.0.0.7:7433")
    with pytest.raises(AccessError, match="cert and key go together"):
        Access(ca="system", cert="x").channel("10.0.0.7:7433")
    with pytest.raises(AccessError, match="needs the authorities"):
        Access(cert="x", key="y").channel("10.0.0.7:7433")
    with pytest.raises(AccessError, match="no certificate in it"):
        Access(ca=ROOT / "go.mod").channel("10.0.0.7:7433")
    assert "secret" not in repr(Access(token="secret"))
    Access(token="t").channel("127.0.0.1:7433").close()
    for target, local in {
        "unix:/run/s": True,
        "127.0.0.1:1": True,
        "[::1]:1": True,
        "localhost:1": True,
        "10.0.0.7:1": False,
        "localhost.example:1": False,
        "example": False,
        "dns:///localhost:1": False,
    }.items():
        assert is_local(target) is local, target
