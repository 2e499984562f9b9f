"""The seed alone decides the faults and the simulated users of a run."""

import pytest

import packs.retail.relations
import services.plan_store.tables
from chaos.faults import INJECTORS
from chaos.poison_messages import POISON_HEADER, poison_message
from chaos.schedule import CLUSTER_KINDS, KINDS, POISON_KINDS, POSTGRES_KINDS, TABLES, ScheduledFault, schedule
from chaos.user_scripts import WEIGHTS, UserScripts
from parley.events import parse_event
from shared.domain.kernel.session import Session
from shared.log import SessionAtPosition, accept
from tests.support.store import STORE
from tests.unit.test_chaos_invariants import recorded_session


def draw(
    seed: int, seconds: float = 300, *, cluster: bool = False, postgres: bool = False
) -> tuple[ScheduledFault, ...]:
    return schedule(seed, seconds, interval=0.5, cluster=cluster, postgres=postgres)


def test_the_same_seed_draws_the_same_faults() -> None:
    assert draw(7) == draw(7) != draw(8)


def test_every_kind_has_an_injector() -> None:
    assert {*KINDS, *CLUSTER_KINDS, *POSTGRES_KINDS} == set(INJECTORS)


def test_every_table_to_lock_exists() -> None:
    assert set(TABLES) <= {*services.plan_store.tables.METADATA.tables, *packs.retail.relations.METADATA.tables}


@pytest.mark.parametrize("kind", POISON_KINDS)
def test_poison_is_marked_and_never_accepted_as_an_event(kind: str) -> None:
    session = recorded_session()
    message = poison_message(kind, "s1", session.stored_messages[-1])
    assert message
    assert message.headers[POISON_HEADER] == kind
    loaded = SessionAtPosition(Session("s1"), 0)
    for raw in session.stored_messages:
        loaded, _, _ = accept(loaded, raw)
    position = session.stored_messages[-1].position + 1
    poisoned = session.stored_messages[-1]._replace(
        position=position, subject=message.subject, data=message.data, headers=message.headers
    )
    after, event, reason = accept(loaded, poisoned)
    assert event is None
    assert reason
    assert after == SessionAtPosition(loaded.session, position), "only the position changes"


def test_some_poison_is_a_well_formed_event() -> None:
    """Otherwise only the guard would be tested, never the checks behind it."""
    tail = recorded_session().stored_messages[-1]
    for kind in ("unguarded_stop", "guarded_wrong_version", "guarded_wrong_subject", "copy"):
        message = poison_message(kind, "s1", tail)
        assert message
        parse_event(message.data)


def test_the_same_seed_makes_the_same_users() -> None:
    ours, repeated, others = (UserScripts(seed, STORE) for seed in (7, 7, 8))
    scripts = [ours.script(n) for n in range(40)]
    assert scripts == [repeated.script(n) for n in range(40)]
    assert [script.message for script in scripts] != [others.script(n).message for n in range(40)]
    assert {script.kind for script in scripts} == set(WEIGHTS)
    assert len({script.session_id for script in scripts}) == 40
