"""Who may do what to a session: by a command, and by an event that another program appends to the log."""

from collections.abc import Callable, Iterator

import pytest

from parley.events.values import Role, SessionSettings
from shared.domain.kernel import commands as c
from shared.domain.kernel.actors import OPERATOR
from shared.domain.kernel.errors import Forbidden
from shared.domain.kernel.session import Session
from shared.domain.rules.admissible import admissible, admit
from shared.domain.rules.consequences import complete
from shared.domain.rules.decide import AnyCommand, decide
from shared.domain.rules.permissions import RANKS, SessionRole, may
from shared.story import StoryLine
from tests.unit.domain.spec import (
    ASKED,
    RUN_CODE,
    TO_CODE,
    TO_DONE,
    TO_PLAN,
    act,
    approve,
    command_meta,
    edit,
    edit_code,
    given,
    reject,
    request,
    say,
    turn,
)

type Asked = AnyCommand | Callable[[Session], AnyCommand]

ACTION = (request("agentflow"), turn(act("1.1", effect="write")))
SHARES: tuple[StoryLine, ...] = tuple(c.Share(user=f"{role}1", role=role) for role in ("viewer", "editor", "approver"))
LEAST: list[tuple[str, tuple[StoryLine, ...], Asked, SessionRole]] = [
    ("message", TO_PLAN, say("make it faster"), "editor"),
    ("feedback", TO_PLAN, c.Say(text="shorter", feedback=True), "editor"),
    ("message with settings", TO_DONE, c.Say(text="x", settings=SessionSettings(approval="never")), "approver"),
    ("edit of the plan", TO_PLAN, edit("one"), "editor"),
    ("edit of the code", TO_CODE, edit_code("x = 1"), "editor"),
    ("stop", TO_PLAN, c.Stop(), "editor"),
    ("pause", TO_PLAN, c.Pause(), "editor"),
    ("rename", TO_PLAN, c.Rename(title="x"), "editor"),
    ("next", TO_DONE, c.Continue(), "editor"),
    ("approval of the plan", TO_PLAN, approve, "approver"),
    ("rejection of the plan", TO_PLAN, reject, "approver"),
    ("approval of the code", TO_CODE, approve, "approver"),
    ("rejection of the code", TO_CODE, reject, "approver"),
    ("approval of a call", ACTION, c.Approve(version=9, action_id="1.1"), "approver"),
    ("refusal of a call", ACTION, c.Reject(action_id="1.1"), "approver"),
    ("skip", ACTION, c.Skip(action_id="1.1"), "approver"),
    ("answer", ASKED, c.Answer(text="yes"), "approver"),
    ("run", TO_DONE, RUN_CODE[0], "approver"),
    ("budget", TO_PLAN, c.RaiseBudget(tokens=1), "approver"),
    ("policy", ACTION, c.Remember(tool="x", policy="never"), "approver"),
    ("resume", (*TO_PLAN, c.Pause()), c.Resume(), "approver"),
    ("retry", (*TO_PLAN, c.Stop()), c.Retry(), "approver"),
    ("completion", TO_DONE, c.Complete(), "approver"),
    ("cancellation", TO_PLAN, c.CancelPlan(), "approver"),
    ("deletion", TO_PLAN, c.DeletePlan(), "approver"),
    ("workflow", TO_DONE, c.ChooseWorkflow(workflow="flow"), "approver"),
    ("sharing", TO_PLAN, c.Share(user="eve", role="approver"), "owner"),
]

WHO = {
    "editor": "1 is a viewer here; only editors, approvers and the owner can do this. Fork the session",
    "approver": "1 is an? (viewer|editor) here; only approvers and the owner can do this",
    "owner": "1 is an? (viewer|editor|approver) here; only the owner can do this",
}


def users() -> Iterator[tuple[str, SessionRole | None]]:
    yield from (("ann", "owner"), ("mallory", None), ("", None), ("user:ann", None), ("ANN", None))
    yield from ((f"{role}1", role) for role in RANKS[:-1])


@pytest.mark.parametrize(("lines", "command", "least"), [row[1:] for row in LEAST], ids=[row[0] for row in LEAST])
def test_a_user_does_what_their_role_allows(lines: tuple[StoryLine, ...], command: Asked, least: SessionRole) -> None:
    session = given(*lines, *SHARES).session
    asked = command(session) if callable(command) else command
    event = decide(session, asked, command_meta(session, asked))
    assert admissible(session, event) == ""
    for user, role in users():
        actor = f"user:{user}"
        forged = complete(session, event.model_copy(update={"actor": actor}))
        if role is not None and RANKS.index(role) >= RANKS.index(least):
            assert decide(session, asked, command_meta(session, asked, actor)).actor == actor
            assert admit(session, forged)[1] == ""
        else:
            with pytest.raises(Forbidden, match=WHO[least] if role else "no access to this session"):
                decide(session, asked, command_meta(session, asked, actor))
            after, why = admit(session, forged)
            assert (after, bool(why)) == (session, True)
            assert may(role, event) is False


def test_a_role_that_was_taken_away_counts_no_more() -> None:
    shared = given(*TO_PLAN, c.Share(user="bob", role="approver")).session
    withdrawn = given(*TO_PLAN, c.Share(user="bob", role="approver"), c.Share(user="bob", role=None)).session
    roles: list[tuple[Session, Role | None]] = [(shared, "approver"), (withdrawn, None)]
    for session, role in roles:
        event = decide(session, approve(session), command_meta(session, approve(session)))
        assert (admissible(session, event.model_copy(update={"actor": "user:bob"})) == "") is (role is not None)


def test_the_operator_acts_in_every_session_unless_it_is_shared_otherwise() -> None:
    session = given(*TO_PLAN).session
    assert decide(session, approve(session), command_meta(session, approve(session), OPERATOR)).actor == OPERATOR
    viewed = given(*TO_PLAN, c.Share(user="local", role="viewer")).session
    with pytest.raises(Forbidden, match="local is a viewer here; only approvers"):
        decide(viewed, approve(viewed), command_meta(viewed, approve(viewed), OPERATOR))
