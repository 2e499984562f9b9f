"""A process whose event loop is blocked is ended, and what blocked it is remembered.

A blocked loop cannot look after itself: a regular expression, or any C code, may hold the interpreter, and then no
thread of the process runs either. So each service starts a small guard, a process of its own.

    memory       what service and guard share: the heartbeat, and the deliveries in hand
    service      the service's side: starts the guard, beats, tells which delivery runs
    silence      since when the loop is silent, and how much of that time it was really blocked
    guard        the program: `python -m shared.watchdog.guard`
    verdict      what the guard does about a silent loop
"""

import signal

ASK = signal.SIGUSR1  # the guard asks the service where it is, and for which delivery
END = signal.SIGALRM  # the guard ends the service, whose exit code is then this number
BEAT = 1.0  # seconds between two heartbeats
SHORTEST = 2.0  # seconds that a limit must have: a loop that is idle beats every BEAT
