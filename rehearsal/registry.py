"""The registry of programs that the rehearsal model can write, each with the steps of its two approaches."""

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Feature:
    """An extra that a program can have."""

    name: str
    words: str
    step: str
    avoids: bool = False  # it leaves something out: "without …" then asks for it
    number: str = ""  # the constant that people may set


@dataclass(frozen=True)
class ProgramSpec:
    """One kind of program.

    `words`: phrases that name it, separated by commas. `approaches`: two paragraphs with a step on each line.
    """

    name: str
    title: str
    words: str
    approaches: str
    features: tuple[Feature, ...] = ()
    number: str = ""  # the constant that the user may set
    least: int = 1  # minimum of the number

    @property
    def goal(self) -> str:
        """The goal of its plans."""
        return f"Write {self.title} in Python."

    @cached_property
    def plans(self) -> tuple[tuple[str, ...], ...]:
        """The steps of its two approaches."""
        texts = self.approaches.strip().split("\n\n")
        return tuple(tuple(line.strip() for line in text.splitlines()) for text in texts)


PROGRAMS = (
    ProgramSpec(
        "calculator",
        "a simple calculator",
        "calculator, arithmetic",
        """
        Create functions for the basic operations on whole numbers: add, subtract, multiply, divide
        Validate the input and refuse a division by zero with a clear message
        Build a small command line that answers one expression a line

        Split an expression into numbers, operators and parentheses
        Write a Parser class that respects the order of operations
        Report every mistake in an expression with its reason
        Answer the expressions that come as input, or show examples
        """,
        features=(
            Feature("floats", "float, decimal, fraction, real number", "Support floating point numbers"),
            Feature("sqrt", "sqrt, square root", "Add the square root"),
            Feature("power", "power, exponent", "Add powers"),
            Feature("modulo", "modulo, modulus, remainder", "Add the modulo operation"),
            Feature("history", "history, previous calculation", "Keep a history of the calculations"),
        ),
    ),
    ProgramSpec(
        "todo",
        "a to-do list",
        "todo, to do list, to do app, task list, task manage, checklist",
        """
        Create a Task class with its text and whether it is done
        Create a TodoList that adds, finishes and removes tasks by number
        Build a command line with add, done, remove and list

        Keep the texts by number, and the numbers of the finished tasks in a set
        Write the operations add, done and remove with checks of the number
        Show the list with check boxes
        Read commands from the input
        """,
        features=(Feature("priority", "priorit, urgent, important", "Let urgent tasks come first"),),
    ),
    ProgramSpec(
        "temperature",
        "a temperature converter",
        "temperature, celsius, fahrenheit, unit convert",
        """
        Convert the value to Celsius, whatever scale it comes in
        Convert Celsius to the wanted scale
        Refuse unknown scales and values below absolute zero
        Read lines such as 100 C to F

        Describe each scale in a table by the size of its degree and its zero point
        Write one formula that converts between any two scales of the table
        Check the input against the table and absolute zero, and read it line by line
        """,
        features=(Feature("kelvin", "kelvin", "Add the Kelvin scale"),),
    ),
    ProgramSpec(
        "password",
        "a password generator",
        "password, passphrase",
        """
        Take one character of each kind: lower case, upper case, digit, symbol
        Fill up to the length with safe random characters and shuffle
        Print a few passwords to choose from

        Draw every character at random from all kinds together
        Draw again until each kind occurs
        Refuse lengths that are too short, and print a few passwords
        """,
        features=(
            Feature(
                "clear",
                "look alike, lookalike, ambiguous, similar, confus",
                "Avoid characters that look alike",
                avoids=True,
            ),
        ),
        number="LENGTH",
        least=4,
    ),
    ProgramSpec(
        "words",
        "a word counter with text statistics",
        "word count, count word, text statistic, word frequen, text analy",
        """
        Split the text into words without punctuation
        Count the words with a Counter and rank them
        Report lines, words, characters and the most frequent words

        Find the words with a regular expression
        Tally them in a plain dictionary and sort it twice
        Print a report of the counts
        Use an example where there is no input
        """,
        features=(
            Feature(
                "stopwords",
                "stop word, stopword, ignore common, without common, filler",
                "Ignore common words",
                avoids=True,
            ),
        ),
        number="TOP",
    ),
    ProgramSpec(
        "guessing",
        "a number guessing game",
        "guess, guess number, guessing game",
        """
        Choose a secret number, the same for the same seed
        Answer each guess with too low, too high or correct, and count the guesses
        Play with the person at the keyboard, or show a game that halves the range

        Write a Game class that holds the secret and judges guesses
        Refuse guesses that are no number or out of range without counting them
        Show a game that tries the numbers from the bottom up when nobody plays
        """,
        features=(
            Feature("limit", "limit, attempt, maximum guess, lives", "Limit the number of attempts", number="ATTEMPTS"),
        ),
        number="HIGH",
    ),
    ProgramSpec(
        "primes",
        "a program that lists prime numbers",
        "prime, sieve",
        """
        Test a number by dividing it by everything up to its square root
        Collect the primes up to a limit with that test
        Print them

        Mark all numbers up to the limit as candidates
        Strike out the multiples of each prime, as in the sieve of Eratosthenes
        Print the numbers that are left
        """,
        number="LIMIT",
    ),
    ProgramSpec(
        "fibonacci",
        "a program that prints Fibonacci numbers",
        "fibonacci",
        """
        Keep the last two numbers and add them in a loop
        Refuse a negative count
        Print the first numbers

        Define each number by the two before it, recursively
        Remember results, so that each is calculated once
        Check the count and print the numbers
        """,
        number="COUNT",
    ),
    ProgramSpec(
        "roman",
        "a converter for Roman numerals",
        "roman num, numeral",
        """
        List the parts of Roman numerals from M to I with their values
        Write a number by taking as many of each part as fit
        Read a numeral back and refuse unusual spellings
        Convert in the direction that the input needs

        Write a number recursively: its largest part, then the rest
        Read a numeral by stripping its parts from the front
        Check numerals by writing them again, and answer line by line
        """,
    ),
    ProgramSpec(
        "palindrome",
        "a palindrome checker",
        "palindrom",
        """
        Keep only letters and digits, in lower case
        Compare the text with its reverse
        Judge each line of input

        Normalise the text: case, spaces and punctuation do not count
        Walk from both ends to the middle and compare the characters
        Print yes or no for each line
        """,
    ),
    ProgramSpec(
        "fizzbuzz",
        "FizzBuzz",
        "fizzbuzz, fizz buzz, fizz",
        """
        Decide for each number by a chain of conditions
        Print the numbers up to the limit

        Put the divisors and their names into a table
        Join the names that apply
        Print up to the limit
        """,
        number="LIMIT",
    ),
    ProgramSpec(
        "caesar",
        "a Caesar cipher",
        "caesar, cipher, encrypt",
        """
        Move each letter along the alphabet by the shift and wrap around
        Leave everything else as it is
        Decrypt with the opposite shift, and show both for each line

        Build a translation table of both alphabets, turned by the shift
        Translate whole texts at once; decrypting turns the other way
        Encrypt the lines of input, or examples
        """,
        number="SHIFT",
    ),
)
KINDS = ", ".join(program.title for program in PROGRAMS)
CONFIGURE = "To use a language model, set OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL and start Parley again."
BY_NAME = 'Any tool can be called by its exact name: Call server.tool with {"name": "value"}.'
INTRODUCTION = (
    "This is Parley's rehearsal model. It is a set of rules and no language model. "
    f"It can plan, write and revise these programs: {KINDS}. "
    "It plans paths through flows, and writes SQL for plain questions about the tables that it is shown. "
    f"With tools it serves the customers of a sample retail store. {BY_NAME} {CONFIGURE}"
)
