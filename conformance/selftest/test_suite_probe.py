# SPDX-License-Identifier: GPL-2.0-or-later
"""The first transfer of each role against implementations with which it fails: what is tried and reported."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import pytest
from netblt_conformance.cases.probe import OPENS_OF_OTHER_VERSIONS, SPELLINGS, VERSIONS, probe
from netblt_conformance.common import paths
from netblt_conformance.common.model import ALL_ROLES, ROLES_BY_NAME, Role
from netblt_conformance.common.verdicts import FIRST_TRANSFER
from netblt_conformance.links.sim import SimLinkFactory
from netblt_conformance.links.virtual import VirtualLink
from netblt_conformance.mutants import mutants, mutation
from netblt_conformance.mutants.mutants import Edit, Mutant
from netblt_conformance.packets.capture import Capture
from netblt_conformance.packets.spelling import Covers, Spelling

ACTIVE_RECEIVER, PASSIVE_RECEIVER = ROLES_BY_NAME["active-receiver"], ROLES_BY_NAME["passive-receiver"]
Probed = tuple[str, int]  # why the first transfer failed, and the number of transfers that were tried
Probe = Callable[[str | Mutant, Role], Probed]
# Sends GO where it should send OK.
NEVER_OK = Mutant(
    name="never-ok",
    requirement="RESEND-02",
    about="GO where OK is due",
    edit=(Edit(file="control_queue.c", old="add(queue, NB_OK, buffer)", new="add(queue, NB_GO, buffer)"),),
)


@pytest.fixture(scope="module")
def probe_of_mutant() -> Iterator[Probe]:
    """Probes one role of a mutant of the reference."""
    known = mutants.load(paths.mutants())
    with mutation.workshop(paths.root() / "reference_impl" / "core") as made:
        build = functools.cache(made.build)

        def run(which: str | Mutant, role: Role) -> Probed:
            (mutant,) = [which] if isinstance(which, Mutant) else mutants.chosen(known, [which])
            factory, links = SimLinkFactory(build(mutant)), list[VirtualLink]()

            class Counting(SimLinkFactory):
                def make(self, capture: Capture) -> VirtualLink:
                    links.append(factory.make(capture))
                    return links[-1]

            profile, observed = probe(Counting(made.library), role, 1)
            assert not profile.works
            return observed[FIRST_TRANSFER], len(links)

        yield run


@pytest.mark.parametrize(
    ("variant", "spelling"),
    [("packets-from-1", Spelling(first_packet=1)), ("sums-data-too", Spelling(covers=Covers.DATA))],
)
def test_how_a_legal_variant_spells_its_packets_is_found_in_every_role(variant: str, spelling: Spelling) -> None:
    (named,) = [one for one in mutants.load_variants(paths.variants()) if one.name == variant]
    with mutation.workshop(paths.root() / "reference_impl" / "core") as made:
        factory = SimLinkFactory(made.build(named))
        found = {str(role): probe(factory, role, 1)[0] for role in ALL_ROLES}
    assert {role: (profile.works, profile.spelling) for role, profile in found.items()} == {
        str(role): (True, spelling) for role in ALL_ROLES
    }


@pytest.mark.parametrize("role", [ACTIVE_RECEIVER, PASSIVE_RECEIVER], ids=str)
def test_a_receiver_that_has_said_ok_once_is_tried_in_no_other_spelling_or_version(
    probe_of_mutant: Probe, role: Role
) -> None:
    why, tried = probe_of_mutant("only-the-newest-message", role)
    assert tried == 1
    assert why.startswith("expected the transfer to finish: not within 15")


def test_a_receiver_that_never_says_ok_is_tried_in_each_spelling(probe_of_mutant: Probe) -> None:
    _, tried = probe_of_mutant(NEVER_OK, ACTIVE_RECEIVER)
    assert tried == 1 + len(SPELLINGS)


def test_the_first_packet_that_is_wrong_is_reported_with_its_requirement(probe_of_mutant: Probe) -> None:
    why, _ = probe_of_mutant("only-the-newest-message", ACTIVE_RECEIVER)
    assert "; CTRL-01: new control message #" in why


def test_an_end_that_answers_no_open_is_tried_in_each_version_and_the_first_attempt_is_reported(
    probe_of_mutant: Probe,
) -> None:
    why, tried = probe_of_mutant("response-never-sent", PASSIVE_RECEIVER)
    assert tried == len(VERSIONS)
    assert why != f"expected RESPONSE to OPEN: none to {OPENS_OF_OTHER_VERSIONS} OPENs"
