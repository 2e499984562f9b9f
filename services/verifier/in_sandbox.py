"""Runs in the sandbox, not in this service: the tests, and then a report that a program cannot make by printing.

The first line of stdin is a seal, read before the program is imported; the last line of stderr begins with it.
"""

import sys
import unittest


def main() -> None:
    """Last line: the seal, how many tests ran, and whether all of them passed."""
    seal = sys.stdin.readline().strip()
    result = unittest.main("test_program", argv=["tests"], verbosity=2, exit=False).result
    print(seal, result.testsRun, result.wasSuccessful(), file=sys.__stderr__)


if __name__ == "__main__":
    main()
