# SPDX-License-Identifier: GPL-2.0-or-later
"""`netblt listen` and its places: who gets one, who loses it, and what a forged OPEN cannot take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selftest.netblt_command_helpers import (
    DONE,
    UNREACHABLE,
    make_file,
    one_line,
    open_files,
    temporary_files,
)
from selftest.netblt_command_lab import Lab, Process
from selftest.netblt_listen_helpers import make_root, reports, serve
from selftest.netblt_listen_puppets import SERVER, Flood, Puppet, kept_alive

pytest_plugins = ["selftest.netblt_command_fixtures"]

LATER = "too many transfers: later"
BEING_STORED = "another transfer is storing it"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path)


Meet = Callable[..., Puppet]


@pytest.fixture
def meet(udp_lab: Lab) -> Iterator[Meet]:
    """Makes peers, each with an address and ports of its own, and closes them."""
    puppets: list[Puppet] = []

    def make(address: str = "127.0.0.1") -> Puppet:
        puppets.append(Puppet(udp_lab, address, 30000 + len(puppets)))
        return puppets[-1]

    yield make
    for puppet in puppets:
        puppet.close()


def store_near(lab: Lab, source: Path, name: str, *options: str) -> Process:
    """An honest peer on the server's own host, like the puppets."""
    return lab.start(lab.there, "send", source, SERVER, "--client-string", name, *options)


def fetch_near(lab: Lab, name: str, target: Path) -> Process:
    return lab.start(lab.there, "recv", target, SERVER, "--client-string", name)


def begin(puppet: Puppet, name: bytes) -> None:
    """A transfer that has a place."""
    assert puppet.open(name) == ""
    puppet.validate()


class TestForgedOpens:
    @pytest.mark.parametrize("write", [False, True])
    def test_a_flood_takes_no_place_from_honest_peers(
        self, udp_lab: Lab, root: Path, tmp_path: Path, write: bool
    ) -> None:
        file, brought = make_file(root / "file", 200_000), make_file(tmp_path / "brought", 200_000)
        server = serve(udp_lab, root, "--json", "--max-connections", "2")
        flood = Flood(udp_lab, [b"forged%d" % i if write else b"file" for i in range(500)], write=write)
        with flood.going_on(per_second=2000):
            server.wait_until(lambda: flood.sent > 1500, "there are more forged OPENs than unvalidated connections")
            for i in range(3):
                assert fetch_near(udp_lab, "file", tmp_path / f"got{i}").wait() == DONE
                assert (tmp_path / f"got{i}").read_bytes() == file.read_bytes()
                assert store_near(udp_lab, brought, f"stored{i}").wait() == DONE
        server.wait_until(lambda: (root / "stored2").exists(), "the last one has its name")

        assert sorted(e.name for e in root.iterdir()) == ["file", "inner", "stored0", "stored1", "stored2"]

    @pytest.mark.parametrize("write", [False, True])
    def test_nothing_is_opened_or_created_for_them(self, udp_lab: Lab, root: Path, write: bool) -> None:
        make_file(root / "file", 5000)
        server = serve(udp_lab, root, "--json")
        before = len(open_files(server))
        Flood(udp_lab, [b"new%d" % i if write else b"file" for i in range(300)], write=write).send_many(300, 1000)
        late = Puppet(udp_lab)
        assert late.open(b"late") == ""  # so the others have been taken in

        assert len(open_files(server)) == before
        assert temporary_files(server) == []
        assert [entry.name for entry in root.iterdir() if "new" in entry.name] == []
        late.close()

    def test_they_lock_no_name(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 20_000)
        serve(udp_lab, root, "--json")
        Flood(udp_lab, [b"wanted"] * 20, write=True).send_many(20, 1000)

        assert store_near(udp_lab, source, "wanted").wait() == DONE
        assert (root / "wanted").read_bytes() == source.read_bytes()

    def test_the_log_counts_them_and_names_ten_in_a_second(self, udp_lab: Lab, root: Path) -> None:
        server = serve(udp_lab, root, "--max-connections", "2")
        flood = Flood(udp_lab, [b"new%d" % i for i in range(1000)], write=True)
        flood.send_many(7000, 3000)  # of 4,096 unvalidated connections the others are evicted
        refused = Flood(udp_lab, [b"missing/file"], write=True)
        refused.send_many(1000, 3000)
        server.wait_until(lambda: "never validated" in server.errors, "they are counted up")
        lines = server.error_lines
        named = [line for line in lines if "refused" in line and "missing/file" in line]
        summary = next(line for line in lines if "never validated" in line)

        assert 0 < len(named) <= 10 * 5, "as long as the flood lasted, on a slow machine"
        assert int(summary.split()[1]) + len(named) <= 8000
        assert int(summary.split()[1]) > 2000
        assert not any("new" in line for line in lines), "nobody is behind those that were never validated"
        assert len(lines) < 100

    def test_they_end_no_transfer_that_makes_no_progress(self, udp_lab: Lab, root: Path, meet: Meet) -> None:
        """Only who is validated waits for a place."""
        server = serve(udp_lab, root, "--json", "--max-connections", "1", "--min-progress", "1")
        idle = meet()
        begin(idle, b"idle")
        with kept_alive(idle):
            time.sleep(1.5)
            Flood(udp_lab, [b"new%d" % i for i in range(500)], write=True).send_many(2000, 2000)
            assert idle.is_heard()
        assert reports(server) == []


class TestOnePlace:
    def test_who_is_validated_first_gets_it(self, udp_lab: Lab, root: Path, meet: Meet) -> None:
        serve(udp_lab, root, "--json", "--max-connections", "1")
        first, second, third = meet(), meet(), meet()
        for puppet, name in ((first, b"first"), (second, b"second")):
            assert puppet.open(name) == ""  # unvalidated peers have places of their own
        second.validate()
        second.send_data()
        first.validate()

        assert first.abort_reason() == LATER
        assert third.open(b"third") == LATER
        assert second.is_heard()

    def test_who_is_validated_first_gets_the_name(self, udp_lab: Lab, root: Path, meet: Meet) -> None:
        server = serve(udp_lab, root, "--json", "--force")
        first, second, third = meet(), meet(), meet()
        for puppet in (first, second):
            assert puppet.open(b"inner/name") == ""
        second.validate()
        first.validate()

        assert first.abort_reason() == BEING_STORED
        assert third.open(b"inner/name") == BEING_STORED
        assert second.is_heard()
        assert [line["result"] for line in reports(server)] == ["refused", "refused"]
        assert len(temporary_files(server)) == 1

    def test_a_name_is_free_when_its_transfer_has_ended(self, udp_lab: Lab, root: Path, meet: Meet) -> None:
        serve(udp_lab, root, "--json", "--min-progress", "0", "--max-idle", "1")
        first, second = meet(), meet()
        begin(first, b"name")
        with kept_alive(first):
            reason = first.abort_reason()

        assert reason is not None
        assert second.open(b"name") == ""


class TestProgress:
    def test_keepalives_keep_no_place_from_others(self, udp_lab: Lab, root: Path, tmp_path: Path, meet: Meet) -> None:
        file = make_file(root / "file", 5000)
        server = serve(udp_lab, root, "--json", "--max-connections", "1", "--min-progress", "2")
        idle = meet()
        begin(idle, b"idle")
        refused = fetch_near(udp_lab, "file", tmp_path / "got")
        assert refused.wait() == UNREACHABLE
        assert LATER in one_line(refused)
        with kept_alive(idle):
            time.sleep(3.5)
            assert idle.is_heard(), "nobody waits"
            assert fetch_near(udp_lab, "file", tmp_path / "got").wait() == DONE
        assert (tmp_path / "got").read_bytes() == file.read_bytes()
        reason = idle.abort_reason()
        assert reason is not None
        assert reason.startswith("no new data for ")
        assert reason.endswith(" s, and others wait")
        server.wait_until(lambda: len(reports(server)) == 3, "all are told")
        assert sorted(line["result"] for line in reports(server)) == ["done", "local-abort", "refused"]
        assert sorted(entry.name for entry in root.iterdir()) == ["file", "inner"]

    def test_data_that_was_sent_before_keeps_no_place(self, udp_lab: Lab, root: Path, meet: Meet) -> None:
        serve(udp_lab, root, "--json", "--max-connections", "1", "--min-progress", "2")
        idle, other = meet(), meet()
        begin(idle, b"idle")
        for _ in range(12):
            idle.sent = 0
            idle.send_data()
            time.sleep(0.3)
        begin(other, b"other")
        other.send_data()

        assert other.is_heard()
        assert idle.abort_reason() is not None

    def test_a_slow_link_keeps_its_place(self, udp_lab: Lab, root: Path, meet: Meet) -> None:
        """A new packet from time to time is enough."""
        serve(udp_lab, root, "--json", "--max-connections", "1", "--min-progress", "4")
        slow, other = meet(), meet()
        begin(slow, b"slow")
        for _ in range(6):
            slow.send_data()
            time.sleep(1)

        assert other.open(b"other") == LATER
        assert slow.is_heard()

    def test_the_one_that_is_idle_for_longest_gives_way(self, udp_lab: Lab, root: Path, meet: Meet) -> None:
        serve(udp_lab, root, "--json", "--max-connections", "2", "--min-progress", "1")
        first, second, third = meet(), meet(), meet()
        begin(first, b"first")
        begin(second, b"second")
        time.sleep(1.5)
        first.send_data()
        time.sleep(3)
        begin(third, b"third")

        assert second.abort_reason() is not None
        assert first.is_heard()
        assert third.is_heard()

    def test_a_name_is_lost_to_the_next_who_wants_it(
        self, udp_lab: Lab, root: Path, tmp_path: Path, meet: Meet
    ) -> None:
        source = make_file(tmp_path / "source", 20_000)
        serve(udp_lab, root, "--json", "--min-progress", "1")
        idle, other = meet(), meet()
        begin(idle, b"name")
        begin(other, b"other")
        with kept_alive(idle):
            time.sleep(3)
            assert store_near(udp_lab, source, "name").wait() == DONE
        assert (root / "name").read_bytes() == source.read_bytes()
        assert idle.abort_reason() is not None
        assert other.is_heard(), "it has another name"

    def test_max_idle_ends_it_even_if_nobody_waits(self, udp_lab: Lab, root: Path, meet: Meet) -> None:
        server = serve(udp_lab, root, "--json", "--min-progress", "0", "--max-idle", "2")
        idle = meet()
        begin(idle, b"idle")
        with kept_alive(idle):
            reason = idle.abort_reason()

        assert reason is not None
        assert reason.startswith("no new data for ")
        assert "others" not in reason
        server.wait_until(lambda: len(reports(server)) == 1, "a line on stderr")
        assert reports(server)[0]["reason"] == reason


class TestLimitsPerPeer:
    def test_one_address_gets_no_more_than_its_share(self, udp_lab: Lab, root: Path, meet: Meet) -> None:
        serve(udp_lab, root, "--json", "--max-per-address", "2", "--max-per-prefix", "0")
        early, *two = (meet("127.0.1.1") for _ in range(3))
        assert early.open(b"early") == ""
        for i, puppet in enumerate(two):
            begin(puppet, b"name%d" % i)
        early.validate()

        assert early.abort_reason() == "too many from your address"
        assert meet("127.0.1.1").open(b"late") == "too many from your address"
        begin(meet("127.0.1.2"), b"neighbour")
        assert [puppet.is_heard() for puppet in two] == [True, True]

    def test_one_network_gets_no_more_than_its_share(self, udp_lab: Lab, root: Path, meet: Meet) -> None:
        serve(udp_lab, root, "--json", "--max-per-prefix", "2")
        for i in range(2):
            begin(meet(f"127.0.1.{i + 1}"), b"name%d" % i)

        assert meet("127.0.1.9").open(b"late") == "too many from your network"
        begin(meet("127.0.2.1"), b"other")

    def test_a_place_that_is_given_back_counts_no_longer(self, udp_lab: Lab, root: Path, meet: Meet) -> None:
        serve(udp_lab, root, "--json", "--max-per-address", "1", "--max-idle", "1")
        for i in range(3):
            puppet = meet("127.0.1.1")
            begin(puppet, b"name%d" % i)
            assert puppet.abort_reason() is not None

    def test_who_is_idle_gives_way_to_its_own_address(self, udp_lab: Lab, root: Path, meet: Meet) -> None:
        serve(udp_lab, root, "--json", "--max-per-address", "1", "--min-progress", "1")
        idle, stranger, other = meet("127.0.1.1"), meet("127.0.2.1"), meet("127.0.1.1")
        begin(stranger, b"stranger")
        begin(idle, b"idle")
        time.sleep(3)
        begin(other, b"other")

        assert idle.abort_reason() is not None
        assert stranger.is_heard()
        assert other.is_heard()

    @pytest.mark.parametrize(("places", "from_one_address"), [("16", 4), ("20", 5), ("4", 4)])
    def test_a_quarter_but_at_least_four_is_the_default(
        self, udp_lab: Lab, root: Path, meet: Meet, places: str, from_one_address: int
    ) -> None:
        serve(udp_lab, root, "--json", "--max-connections", places)
        for i in range(from_one_address):
            begin(meet(), b"name%d" % i)

        expected = LATER if int(places) == from_one_address else "too many from your address"
        assert meet().open(b"late") in (expected, "too many from your address")
