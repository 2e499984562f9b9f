"""The watchdog: ends a process whose event loop is blocked, and records the delivery that blocked it.

A blocked loop cannot watch itself: a regular expression, or any C code, may hold the interpreter, so that no thread of
the process runs. Therefore each service starts a guard, which is a small process of its own.

    memory       memory shared by service and guard: the heartbeat and the active deliveries
    service      the service's side: starts the guard, sends heartbeats, marks the running delivery
    silence      how long the loop has been silent, and how much of that time it was blocked
    guard        the program: `python -m shared.watchdog.guard`
    blocked_process  what the guard does when the loop is silent
"""

import signal

ASK_SIGNAL = signal.SIGUSR1  # the guard requests stack traces and the running delivery
END_SIGNAL = signal.SIGALRM  # ends the service, with this number as its exit code
BEAT_INTERVAL = 1.0  # seconds between two heartbeats
MIN_TIMEOUT = 2.0  # the smallest `watchdog_timeout` in seconds: an idle loop beats every BEAT_INTERVAL
