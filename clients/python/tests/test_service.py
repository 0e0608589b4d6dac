"""The client against the real service."""

import datetime
import json
import sys
from pathlib import Path

import grpc
import pytest
from processes import PROMOTION, started
from service import push, running, token

from retrial.client import Client, NoDecision, ReplayRequest, TamperedError, named


def test_from_an_unknown_release_to_a_verified_pass(retrial: Path, tmp_path: Path) -> None:
    names = {"ci": "submitter", "ada": "author", "runner": "registrar", "eve": "approver"}
    tokens = {name: token(retrial, tmp_path, name, role) for name, role in names.items()}
    with running(retrial, tmp_path, secure=True) as server:
        push(server, tokens["ada"])
        environment = {"RETRIAL_ATTACH": server.address, "RETRIAL_CA": str(tmp_path / "ca.pem"), "RETRIAL_TOKEN": tokens["runner"]}
        command = [sys.executable, str(PROMOTION)]
        pin_file = tmp_path / "pin.json"
        with (
            started(command, environment | {"RETRIAL_ATTACH_NAME": "stable"}) as stable,
            started(command, environment | {"RETRIAL_ATTACH_NAME": "next"}) as candidate,
            Client(server.address, ca=tmp_path / "ca.pem", token=tokens["ci"], pin_file=pin_file) as client,
        ):
            stable.says("is attached")
            candidate.says("is attached")
            unknown = client.gate_status("v1", ["memory-promotion"])
            assert (unknown.passed, unknown.status) == (False, "UNKNOWN")
            assert unknown.causes

            request = ReplayRequest(
                set="memory-promotion", release="v1", baseline=named("stable"), candidate=named("next", max_age_days=14)
            )
            replay = client.replay(request)
            findings = [event.finding for event in replay if event.WhichOneof("event") == "finding"]
            decision = replay.decision
            assert (decision.passed, decision.ruling, decision.summary) == (False, "BLOCK", "release blocked: 17 fixtures flipped")
            flips = [finding.subject for finding in findings if finding.code == "FLIP"]
            assert len(flips) == 17
            assert flips == sorted(flips)
            assert client.gate_status("v1").status == "BLOCK"
            assert client.watch_replay(decision.message.replay_id).result().summary == decision.summary

            request.candidate.CopyFrom(named("next", max_age_days=30))
            assert client.replay(request).result().passed
            assert client.gate_status("v1", ["memory-promotion"]).passed
            assert client.wait_gate("v1", patience=30).passed
            assert not client.gate_status("v2").passed
            assert not client.gate_status("v1", ["memory-promotion", "another"]).passed
            past = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
            assert not client.gate_status("v1", as_of=past).passed

            request.release = "v3"
            request.baseline.CopyFrom(named("nobody"))
            with pytest.raises(NoDecision, match="NOT_FOUND"):
                client.replay(request).result()
            assert client.gate_status("v1").passed
        with (
            Client(server.address, ca=tmp_path / "ca.pem", token=tokens["runner"]) as other,
            pytest.raises(NoDecision, match="PERMISSION_DENIED"),
        ):
            other.replay(request).result()
        with Client(server.address, ca=tmp_path / "ca.pem") as nobody, pytest.raises(grpc.RpcError):
            nobody.gate_status("v1")

        # The command line and this client keep the same pin.
        server.cli("gate", "status", "--release", "v1", token=tokens["ci"])
        (pinned,) = (tmp_path / "config/retrial/pins").iterdir()
        assert json.loads(pinned.read_text()) == json.loads(pin_file.read_text())

    # Another server at the same address has another log: whoever remembers the first one notices.
    (tmp_path / "other").mkdir()
    with (
        running(retrial, tmp_path / "other") as another,
        Client(another.address, pin_file=pin_file) as client,
        pytest.raises(TamperedError, match="not signed by the server's key"),
    ):
        client.gate_status("v1")
