"""`parley chat`: a conversation with Parley in a terminal. It shows what the gateway sends and has no rules itself.

state.py            what the chat knows, and how each message changes it (pure)
choices.py          the choices offered now, and what a typed line means (pure); slash.py: commands that begin with /
effects.py          what a line or choice does; approvals and rejections as messages (pure)
forms.py            answers to forms (pure); edit.py: editing a plan, a program or a path
render.py           how things look; render_journal.py: events; render_turn.py: turns, approvals, answers, offers;
                    render_flow.py: paths and result rows; panels.py
local_commands.py   commands that send the session no message: lists, files
terminal.py         the terminal (prompt_toolkit); pipe.py: lines from a pipe instead
chat_session.py     connects these to the gateway; run.py: the command; first_request.py: options of the first request
"""
