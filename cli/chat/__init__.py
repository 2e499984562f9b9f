"""`parley chat`: a conversation with Parley in a terminal.

view.py     what the screen knows: one server message after the other folded in (pure)
choices.py  what can be chosen now, and what a typed line means (pure); slash.py: the commands that begin with /
render.py   how things look; gist.py: an event in one line; text.py: plans as text that a person edits
screen.py   the terminal (prompt_toolkit), and script.py: lines from a pipe instead
talk.py     brings them together with the gateway
"""
