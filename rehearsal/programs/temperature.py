# ruff: noqa: T201, C901
"""A temperature converter: `100 C to F`."""

import sys

EXAMPLES = ["100 C to F", "32 F to C", "-40 C to F"]
ABSOLUTE_ZERO = -273.15  # degrees Celsius

#: second
SCALES = {  # how many degrees make one degree Celsius, and where 0 °C lies
    "C": (1.0, 0.0),
    "F": (1.8, 32.0),
    "K": (1.0, 273.15),  #: second kelvin
}


#: end
def convert(value: float, source: str, target: str) -> float:
    """Convert between scales named by their letter; raise ValueError for anything that cannot be."""
    #: not second
    match source:
        case "C":
            celsius = value
        case "F":
            celsius = (value - 32) / 1.8
        case "K":  #: not second kelvin
            celsius = value + ABSOLUTE_ZERO  #: not second kelvin
        case _:
            raise ValueError(f"unknown scale {source!r}")
    if celsius < ABSOLUTE_ZERO - 1e-9:
        raise ValueError("nothing is colder than absolute zero")
    match target:
        case "C":
            return celsius
        case "F":
            return celsius * 1.8 + 32
        case "K":  #: not second kelvin
            return celsius - ABSOLUTE_ZERO  #: not second kelvin
        case _:
            raise ValueError(f"unknown scale {target!r}")
    #: end
    #: second
    for scale in (source, target):
        if scale not in SCALES:
            raise ValueError(f"unknown scale {scale!r}, use {', '.join(SCALES)}")
    size, zero = SCALES[source]
    degrees = (value - zero) / size
    if degrees < ABSOLUTE_ZERO - 1e-9:
        raise ValueError("nothing is colder than absolute zero")
    size, zero = SCALES[target]
    return degrees * size + zero
    #: end


def answer(line: str) -> str:
    """What the converter says to one line."""
    try:
        value, source, _, target = line.upper().split()
        return f"{line} = {convert(float(value), source, target):.2f}"
    except ValueError as error:
        return f"{line}: {error}; write for example: 100 C to F"


def main() -> None:
    """Convert each line of input; with no input at all, show a few examples."""
    for line in list(sys.stdin) or EXAMPLES:
        print(answer(line.strip()))


if __name__ == "__main__":
    main()
