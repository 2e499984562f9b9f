"""A run's seed decides its faults and its people, and nothing else does."""

import pytest

import packs.retail.tables
import services.plan_store.tables
from chaos.deeds import DEEDS
from chaos.poison import MARK, poison
from chaos.schedule import KINDS, ON_A_CLUSTER, ON_POSTGRES, POISONS, TABLES, Fault, schedule
from chaos.scripts import WEIGHTS, Scripts
from parley.events import parse_event
from shared.domain.session import Session
from shared.log import SessionAtPosition, accept
from tests.support.store import STORE
from tests.unit.test_chaos_invariants import acted


def drawn(seed: int, seconds: float = 300, *, cluster: bool = False, postgres: bool = False) -> tuple[Fault, ...]:
    return schedule(seed, seconds, gap=0.5, ack_wait=2, cluster=cluster, postgres=postgres)


def test_the_same_seed_draws_the_same_faults() -> None:
    assert drawn(7) == drawn(7) != drawn(8)


def test_they_come_in_order_and_in_time() -> None:
    times = [fault.at for fault in drawn(7, 60)]
    assert times == sorted(times)
    assert 1 <= times[0] < times[-1] < 60


def test_a_long_run_plays_every_kind() -> None:
    assert {fault.kind for fault in drawn(7, 1000)} == {kind for kind, _ in KINDS}
    everywhere = {fault.kind for fault in drawn(7, 1000, cluster=True, postgres=True)}
    assert everywhere == {kind for kind, _ in (*KINDS, *ON_A_CLUSTER, *ON_POSTGRES)} - {"locked"}


def test_every_kind_can_be_played() -> None:
    assert {kind for kind, _ in (*KINDS, *ON_A_CLUSTER, *ON_POSTGRES)} == set(DEEDS)


def test_every_table_that_is_held_is_there() -> None:
    assert set(TABLES) <= {*services.plan_store.tables.METADATA.tables, *packs.retail.tables.METADATA.tables}


@pytest.mark.parametrize("kind", POISONS)
def test_poison_is_known_again_and_is_never_an_event(kind: str) -> None:
    life = acted()
    message = poison(kind, "s1", life.raws[-1])
    assert message
    assert message.headers[MARK] == kind
    loaded = SessionAtPosition(Session("s1"), 0)
    for raw in life.raws:
        loaded, _, _ = accept(loaded, raw)
    position = life.raws[-1].position + 1
    late = life.raws[-1]._replace(
        position=position, subject=message.subject, data=message.data, headers=message.headers
    )
    moved, event, why = accept(loaded, late)
    assert event is None
    assert why
    assert moved == SessionAtPosition(loaded.session, position), "it moves the position, and nothing else"


def test_some_poison_is_a_well_formed_event() -> None:
    """Else the guard alone would be tried, and never what lies behind it."""
    tail = acted().raws[-1]
    for kind in ("unguarded_stop", "guarded_wrong_version", "guarded_wrong_subject", "copy"):
        message = poison(kind, "s1", tail)
        assert message
        parse_event(message.data)


def test_the_same_seed_makes_the_same_people() -> None:
    ours, again, others = (Scripts(seed, STORE) for seed in (7, 7, 8))
    people = [ours.script(n) for n in range(40)]
    assert people == [again.script(n) for n in range(40)]
    assert [one.message for one in people] != [others.script(n).message for n in range(40)]
    assert {one.kind for one in people} == {kind for kind, _ in WEIGHTS}
    assert len({one.session_id for one in people}) == 40


def test_a_choice_depends_on_what_it_is_about_alone() -> None:
    first, second = (Scripts(7, STORE).script(3) for _ in range(2))
    second.draw("something else")
    assert first.draw("plan 1") == second.draw("plan 1") != first.draw("plan 2")


def test_no_two_people_want_the_same_order() -> None:
    people = Scripts(7, STORE)
    wanted = [one.subject for n in range(300) if (one := people.script(n)).kind == "retail"]
    assert len(set(wanted)) == len(wanted)
