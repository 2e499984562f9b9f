"""The rehearsal model's replies to the prompts of Parley's services."""

from typing import Any

import pytest

from rehearsal.examples import PROGRAMS, ExampleProgram
from rehearsal.openai_schema import CompletionMessage
from rehearsal.prompt import read_prompt
from rehearsal.rules import answer
from rehearsal.tests.contract import ANOTHER, CODED, PLANNED, Part, reply_to, section, steps_of
from rehearsal.tests.test_programs import run_tests

CALCULATOR = "Help me create a simple calculator"
DONE: tuple[Part, ...] = (PLANNED, CODED, ("decision", "Approved program 1."))


def ask(task: str, request: str = CALCULATOR, *talk: Part, **sections: str) -> dict[str, Any]:
    return reply_to(task, *talk, request=request, **sections)


def markdown(reply: dict[str, Any]) -> str:
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(steps_of(reply), 1))
    return f"Goal: {reply['goal']}\n{steps}\n\nNotes: {reply['notes']}"


def plan_for(request: str = CALCULATOR) -> str:
    return markdown(ask("text_plan", request))


def revised(feedback: str, request: str = CALCULATOR) -> dict[str, Any]:
    return ask("text_plan", request, PLANNED, ("message", feedback), plan=plan_for(request))


REQUESTS = {
    "calculator": "Help me create a simple calculator",
    "todo": "I need a to-do list app",
    "words": "Count the words in a text",
    "primes": "show me all the primes",
    "fibonacci": "Fibonacci sequence",
    "roman": "a Roman numeral converter",
    "palindrome": "detect palindromes",
    "fizzbuzz": "FizzBuzz",
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_request_is_planned_coded_and_tested(program: ExampleProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    request = REQUESTS[program.name]
    plan = ask("text_plan", request)
    assert (plan["kind"], plan["goal"], tuple(steps_of(plan))) == ("plan", program.goal, program.plans[0])
    code = ask("code", request, plan=markdown(plan))
    assert "does not know these steps" not in code["explanation"]
    tests = ask("tests", request, plan=markdown(plan))["tests"]
    result = run_tests(code["code"], tests, monkeypatch)
    assert result.testsRun > 0
    assert result.wasSuccessful()


def test_feedback_about_floats_changes_the_calculator_and_its_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_for()
    first = ask("code", plan=plan)["code"]
    assert "whole number" in first
    floats = ("message", "Add support for floating point numbers")
    second = ask("code", CALCULATOR, PLANNED, CODED, floats, plan=plan, code=first)
    assert "floating point" in second["explanation"]
    tests = ask("tests", CALCULATOR, PLANNED, floats, plan=plan)["tests"]
    assert run_tests(second["code"], tests, monkeypatch).wasSuccessful()
    assert not run_tests(first, tests, monkeypatch).wasSuccessful(), "the tests must distinguish the two"


@pytest.mark.parametrize(
    ("feedback", "expected"),
    [
        ("Add a step to write a user manual", [0, 1, 2, "Write a user manual"]),
        ("Add support for floating point numbers", [0, 1, 2, "Support floating point numbers"]),
        ("add a step for a logo\nadd a step to sing", [0, 1, 2, "A logo", "Sing"]),
        ("leave the plan as it is", [0, 1, 2]),
    ],
)
def test_feedback_changes_the_steps_of_a_plan(feedback: str, expected: list[int | str]) -> None:
    steps = steps_of(ask("text_plan"))
    reply = revised(feedback)
    assert steps_of(reply) == [steps[item] if isinstance(item, int) else item for item in expected]
    assert reply["notes"] == ""


def test_replan_gives_another_plan_and_the_code_follows_it() -> None:
    first = plan_for()
    other = ask("text_plan", CALCULATOR, PLANNED, ANOTHER, plan=first)
    assert not set(steps_of(other)) & set(steps_of(ask("text_plan")))
    assert "class Parser" in ask("code", plan=markdown(other))["code"]
    assert ask("text_plan", CALCULATOR, PLANNED, ANOTHER, plan=markdown(other)) == ask("text_plan")


def test_code_follows_steps_added_by_the_user_and_names_those_it_does_not_know() -> None:
    plan = plan_for() + "\n4. Support floating point numbers\n5. Sing a song"
    reply = ask("code", plan=plan.replace("\n\nNotes: ", ""))
    assert "float(text)" in reply["code"]
    assert reply["explanation"].endswith("does not know these steps: Sing a song.")


@pytest.mark.parametrize(
    ("run", "status", "next_action"),
    [
        ("failed: The sandbox could not be started.", "failure", "retry"),
        ("", "failure", "escalate"),
        ("exit code 0\n5", "success", "complete"),
        ("exit code 0", "partial", "retry"),
        ("failed: The program ended with exit code 1.\nexit code 1\nx\nOh\nValueError: bad", "failure", "retry"),
        ("failed: The program ended with timeout.\nended: timeout\nx", "failure", "retry"),
    ],
)
def test_the_verdict_follows_from_the_run(run: str, status: str, next_action: str) -> None:
    runs: list[Part] = [("run", f"1.1 run_code {{}}\n{run}")] if run else []
    reply = ask("verdict", CALCULATOR, *runs, plan=plan_for())
    assert (reply["status"], reply["next_action"]) == (status, next_action)
    assert list(reply) == ["kind", "execution_analysis", "status", "next_action", "reasoning"]
    if "ValueError" in run:
        assert "ValueError: bad" in reply["execution_analysis"]


def test_a_repair_prompt_gets_the_same_reply_as_the_first_prompt() -> None:
    messages = [
        CompletionMessage(role="system", content="Role: planner\nTask: text_plan"),
        CompletionMessage(role="user", content=section("request", CALCULATOR)),
        CompletionMessage(role="assistant", content="{"),
        CompletionMessage(role="user", content="That reply cannot be used."),
    ]
    assert answer(read_prompt(messages)) == answer(read_prompt(messages[:2]))


def test_unknown_prompts_get_the_introduction() -> None:
    reply = answer(read_prompt([CompletionMessage(role="user", content="Who are you?")]))
    assert isinstance(reply, str)
    assert "no language model" in reply


def test_feedback_on_the_plan_applies_to_the_first_code() -> None:
    talk: tuple[Part, ...] = (PLANNED, ("message", "with floats please"))
    assert "float(text)" in ask("code", CALCULATOR, *talk, plan=plan_for())["code"]


def test_a_follow_up_may_be_about_another_program() -> None:
    reply = ask("text_plan", CALCULATOR, *DONE, ("message", "now a palindrome checker"), plan=plan_for())
    assert reply == ask("text_plan", "a palindrome checker")


def test_a_follow_up_adds_to_the_plan_of_the_same_program() -> None:
    wish = ("message", "the calculator should know floats")
    reply = ask("text_plan", CALCULATOR, *DONE, wish, plan=plan_for())
    assert steps_of(reply) == [*steps_of(ask("text_plan")), "Support floating point numbers"]


def test_an_unknown_program_is_reported_as_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = "Goal: Drive a robot.\n1. Start the motor"
    reply = ask("code", "Drive a robot", plan=plan)
    assert "not written" in reply["explanation"]
    tests = ask("tests", "Drive a robot", plan=plan, code=reply["code"])["tests"]
    assert not run_tests(reply["code"], tests, monkeypatch).wasSuccessful()
