"""A prompt after 50 requests is no longer than after 30, because it has a bounded part of the conversation."""

from collections.abc import Callable

import pytest

from parley.events.values import Knowledge
from services.generator import conversation as generator
from services.planner import conversation as planner
from services.verifier import conversation as verifier
from shared.domain.session import Session
from shared.settings import Settings
from tests.support.prompt_sections import as_prompted
from tests.unit.domain.spec import TO_CODE, StoryLine, approve, checked, draft, given, program, say

WORDS = "Keep it simple, and show what it does. " * 20
FILE = Knowledge(name="notes", text="n" * 40_000)


def rounds(number: int) -> list[StoryLine]:
    """This number of requests, each with a file, a plan and approved code."""
    lines = (say(WORDS, knowledge=(FILE,)), draft(WORDS), approve, program("y = 2"), checked(), approve)
    return [*lines * number, say(WORDS)]


def code_changes(number: int) -> list[StoryLine]:
    """One plan whose code the user asked to change this number of times."""
    return [*TO_CODE, *(say(WORDS), program("y = 2"), checked()) * number, say(WORDS)]


def size(session: Session) -> int:
    """Characters of the longest prompt that a service would build for this session."""
    told, settings = as_prompted(session), Settings()
    prompts = (
        planner.build_prompt(told, settings),
        generator.build_prompt(told, settings),
        verifier.build_tests_prompt(told),
    )
    return max(sum(len(message["content"]) for message in prompt) for prompt in prompts)


@pytest.mark.parametrize("story", [rounds, code_changes])
def test_prompts_stop_growing(story: Callable[[int], list[StoryLine]]) -> None:
    """The longest of some prompts in a row: the older half of a conversation is left out at once."""
    early, late = (
        max(size(given(*story(n)).session) for n in numbers) for numbers in (range(20, 35, 3), range(40, 55, 3))
    )
    assert late <= early * 1.01
