"""Questions in English become SQL over any tables that are shown, by a grammar; and what goes with that.

Pure: nothing here reads or writes anything but its arguments.
"""
