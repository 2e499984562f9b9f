"""`parley chat`: a conversation with Parley in a terminal. It draws what Parley says, and has no rule of its own.

state.py    what the screen knows; view.py: after each message of Parley (pure)
choices.py  what can be chosen now, and what a typed line means (pure); slash.py: the commands that begin with /
forms.py    a question for tables; paths.py: another rest of a path (pure)
render.py   how things look; journal.py: what happened, in words; trace.py: turns, approvals, answers; flow.py: paths
            and rows; lists.py; frames.py; text.py: plans as text that a person edits; spreadsheet.py: rows as CSV
local.py    what is shown and saved without asking
screen.py   the terminal (prompt_toolkit), and script.py: lines from a pipe instead
talk.py     brings them together with the gateway
"""
