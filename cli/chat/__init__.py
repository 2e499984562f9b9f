"""`parley chat`: a conversation with Parley in a terminal. It shows what the gateway sends and has no rules itself.

state.py            what the chat knows; view.py: updates it after each message (pure)
choices.py          the choices offered now, and what a typed line means (pure); slash.py: commands that begin with /
decisions.py        approvals and rejections as messages; effects.py: what a line or choice does
forms.py            answers to forms; path_editing.py: changes of a path (pure)
edit.py             editing a plan or program; plan_editing.py: plans as editable text
render.py           how things look; render_journal.py: events; render_turn.py: turns, approvals, answers;
                    render_flow.py: paths and result rows; render_offer.py: offers; lists.py; panels.py;
                    csv_export.py: rows as CSV
local_commands.py   commands that need no message to the gateway
terminal.py         the terminal (prompt_toolkit); pipe.py: lines from a pipe instead
chat_session.py     connects these to the gateway; run.py: the command; first_request.py: options of the first request
"""
