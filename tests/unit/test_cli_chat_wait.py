"""What the terminal shows while the model's server asks to wait."""

import re

import pytest
from rich.console import Console

from cli.chat.pipe import PipeFrontend
from cli.chat.render import render_live
from shared.domain.kernel import commands as c
from tests.unit.test_cli_chat_view import ChatScenario, delta


def test_a_wait_of_the_model_s_server_is_shown_until_the_draft_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    chat, console = ChatScenario(), Console(width=100)
    chat.does(c.Say(text="calc"))
    view = chat.hears(delta(0, "").model_copy(update={"wait": 58}))
    assert view.draft
    assert 0 < view.draft.remaining_wait <= 58
    with console.capture() as captured:
        console.print(render_live(view, elapsed=3, url="", rows=20, console=console))
    assert re.search(r"The model server asks us to wait \d+ s · Ctrl-C stops", captured.get())

    pipe = PipeFrontend([], read_stdin=False)
    for _ in range(2):
        pipe.update(view)
    assert re.fullmatch(r"The model server asks us to wait \d+ s\n", capsys.readouterr().out)

    view = chat.hears(delta(0, ""))
    assert view.draft
    assert view.draft.remaining_wait == 0
    with console.capture() as captured:
        console.print(render_live(view, elapsed=3, url="", rows=20, console=console))
    assert "Drafting a plan · 3 s" in captured.get()
