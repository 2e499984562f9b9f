"""A tape of what a model's next calls meet, drawn from a seed alone: refusals, hangs, cut and malformed replies. Pure.

Each piece is what the rehearsal server is told at `POST /faults`. Armed in order they are used up call by call, so that
the same calls meet the same faults whatever the clock does.
"""

import random
from typing import Any

Piece = dict[str, Any]
FAULTS: tuple[tuple[str, float], ...] = (
    ("429", 3),
    ("500", 3),
    ("timeout", 1),
    ("cut", 2),
    ("midstream", 2),
    ("garbled", 2),
    ("truncated", 2),
    ("error200", 1),
    ("html", 1),
    ("slow", 2),
)
LONGEST = 4  # calls in a row that one fault may meet: one more than a service tries by itself
WELL = 0.55  # of all pieces


def tape(seed: int, pieces: int) -> tuple[Piece, ...]:
    """So many pieces, well and ill; after the last one the model is well."""
    draws = random.Random(f"{seed}/tape")
    names, weights = zip(*FAULTS, strict=True)
    found: list[Piece] = []
    for _ in range(pieces):
        times = draws.randint(1, LONGEST)
        if draws.random() < WELL:
            found.append({"times": times})
        else:
            found.append(_ill(draws.choices(names, weights)[0], times))
    return tuple(found)


def _ill(name: str, times: int) -> Piece:
    match name:
        case "slow":
            return {"times": times, "token_delay": 0.05, "latency": 0.5}
        case "429":
            return {"times": times, "fault": name, "retry_after": 0.1}
        case _:
            return {"times": times, "fault": name}
