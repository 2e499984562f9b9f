"""Runs the tests inside the sandbox, and prints a report that the tested program cannot forge.

The first line of stdin is a random seal, read before the program is imported. The report, a line of stderr,
begins with it.
"""

import sys
import unittest


def main() -> None:
    """Run the tests; print the seal, the number of tests that ran, and whether all passed."""
    seal = sys.stdin.readline().strip()
    result = unittest.main("test_program", argv=["tests"], verbosity=2, exit=False).result
    print(seal, result.testsRun, result.wasSuccessful(), file=sys.__stderr__)


if __name__ == "__main__":
    main()
