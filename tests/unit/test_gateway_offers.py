"""What an option of an offer means as a reply in protocol 1."""

from typing import Any

import pytest

from parley.events.values import ActionSpec
from parley.protocol import client as m
from services.gateway.messages.commands import to_commands
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.story import Story, StoryLine

PAY = ActionSpec(id="1", tool="pay", arguments={"bill": 7}, effect="write", approval_reason="it changes something")
REFUND = PAY.model_copy(update={"tool": "refund", "description": "Pay it back"})
TO_APPROVAL = (c.Say(text="Pay bill 7", workflow="agentflow"), c.PlanTurn(sub_goal="Pay", actions=(PAY,)))
OFFERED = c.PlanTurn(sub_goal="Pay it back", say="I can pay it back instead.", actions=(REFUND,))
TO_OFFER = (*TO_APPROVAL, c.Say(text="No, pay it back"), OFFERED)


def story(*lines: StoryLine) -> Story:
    played = Story()
    played.apply(*lines)
    return played


def offer_version(session: Session) -> int:
    assert session.offer
    return session.offer.version


def chosen(session: Session, **message: Any) -> Any:
    (command,) = to_commands(m.CLIENT_MESSAGES.validate_python(message), session, None)  # type: ignore[arg-type]
    return command


@pytest.mark.parametrize("kind", ["continue", "answer", "question"])
def test_an_option_of_the_offer_takes_or_keeps_it(kind: str) -> None:
    session = story(*TO_OFFER).session
    version = offer_version(session)
    assert chosen(session, type=kind, content=" take IT ") == c.TakeOffer(version=version)
    assert chosen(session, type=kind, content="Keep what is there") == c.KeepOffer(version=version)
    assert isinstance(chosen(session, type=kind, content="Take it easy"), c.Say | c.Answer)


def test_without_an_offer_its_options_are_words_like_any_others() -> None:
    assert chosen(story(*TO_APPROVAL).session, type="continue", content="Take it") == c.Say(text="Take it")
    asked = story(c.Say(text="A calculator"), c.Ask(text="Which?"))
    answer = chosen(asked.session, type="answer", content="Take it", question_id=asked.session.question.id)  # type: ignore[union-attr]
    assert isinstance(answer, c.Answer)
