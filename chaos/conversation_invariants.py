"""The invariants about what people say while work goes on."""

from chaos.invariant_check import InvariantCheck, Violation
from chaos.replay import LOST_WORK, ReplayedEvidence
from parley.events import facts


def every_message_answered(check: InvariantCheck, run: ReplayedEvidence) -> None:
    """I11: every message was answered or taken in by a draft, unless a stop withdrew it or the session has failed."""
    for session_id, replayed in run.sessions.items():
        conversation = replayed.conversation
        check.checked += conversation.messages
        check.notes += conversation.outcomes
        if replayed.session.phase != "failed":
            problem = f"its messages at versions {sorted(conversation.unanswered)} are not answered"
            check.expect(not conversation.unanswered, session_id, problem)
        for message in replayed.messages:
            if isinstance(message.event, facts.RemarkAnswered):
                problem = f"at version {message.event.version}: {message.event.text}"
                check.expect(LOST_WORK not in message.event.text, session_id, problem)


def nothing_begun_early(check: InvariantCheck, run: ReplayedEvidence) -> None:
    """I12: no change began while a message was unanswered or an offer was open."""
    for session_id, replayed in run.sessions.items():
        check.checked += replayed.conversation.changes
        check.violations += (Violation(check.name, session_id, problem) for problem in replayed.conversation.early)
