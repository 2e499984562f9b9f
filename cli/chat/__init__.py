"""`parley chat`: a conversation with Parley in a terminal.

state.py    what the screen knows; view.py and events.py: one server message after the other folded in (pure)
choices.py  what can be chosen now, and what a typed line means (pure); slash.py: the commands that begin with /
forms.py    a question for tables; paths.py: another rest of a path (pure)
render.py   how things look; trace.py: turns, approvals, answers; flow.py: paths and rows; lists.py; frames.py;
            gist.py: an event in one line; text.py: plans as text that a person edits;
            spreadsheet.py: rows as CSV
rest.py     what is asked besides the conversation: tools, previews, the inbox; local.py: what is shown without asking
screen.py   the terminal (prompt_toolkit), and script.py: lines from a pipe instead
talk.py     brings them together with the gateway
"""
