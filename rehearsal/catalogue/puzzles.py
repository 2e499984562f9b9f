"""Games, numbers and texts."""

from rehearsal.catalogue.program import Feature, Program

GUESSING = Program(
    "guessing",
    "a number guessing game",
    ("guess", "guess number", "guessing game"),
    (
        (
            "Choose a secret number, the same for the same seed",
            "Answer each guess with too low, too high or correct, and count the guesses",
            "Play with the person at the keyboard, or show a game that halves the range",
        ),
        (
            "Write a Game class that holds the secret and judges guesses",
            "Refuse guesses that are no number or out of range without counting them",
            "Show a game that tries the numbers from the bottom up when nobody plays",
        ),
    ),
    (
        Feature(
            "limit", ("limit", "attempt", "maximum guess", "lives"), "Limit the number of attempts", number="ATTEMPTS"
        ),
    ),
    "HIGH",
)
PRIMES = Program(
    "primes",
    "a program that lists prime numbers",
    ("prime", "sieve"),
    (
        (
            "Test a number by dividing it by everything up to its square root",
            "Collect the primes up to a limit with that test",
            "Print them",
        ),
        (
            "Mark all numbers up to the limit as candidates",
            "Strike out the multiples of each prime, as in the sieve of Eratosthenes",
            "Print the numbers that are left",
        ),
    ),
    (),
    "LIMIT",
)
FIBONACCI = Program(
    "fibonacci",
    "a program that prints Fibonacci numbers",
    ("fibonacci",),
    (
        ("Keep the last two numbers and add them in a loop", "Refuse a negative count", "Print the first numbers"),
        (
            "Define each number by the two before it, recursively",
            "Remember results, so that each is calculated once",
            "Check the count and print the numbers",
        ),
    ),
    (),
    "COUNT",
)
TICTACTOE = Program(
    "tictactoe",
    "a game of tic-tac-toe",
    ("tic tac toe", "tictactoe", "noughts and crosses"),
    (
        (
            "Create a Board with nine squares and players who take turns",
            "Check the eight rows for a winner",
            "Refuse squares that are taken or do not exist",
            "Play the moves that come as input, or show a game",
        ),
        (
            "Number the squares as a magic square, in which every row adds up to 15",
            "Find a winner by three held squares with that sum",
            "Handle turns, draws and wrong moves, and draw the board",
        ),
    ),
)
ROMAN = Program(
    "roman",
    "a converter for Roman numerals",
    ("roman num", "numeral"),
    (
        (
            "List the parts of Roman numerals from M to I with their values",
            "Write a number by taking as many of each part as fit",
            "Read a numeral back and refuse unusual spellings",
            "Convert in the direction that the input needs",
        ),
        (
            "Write a number recursively: its largest part, then the rest",
            "Read a numeral by stripping its parts from the front",
            "Check numerals by writing them again, and answer line by line",
        ),
    ),
)
PALINDROME = Program(
    "palindrome",
    "a palindrome checker",
    ("palindrom",),
    (
        (
            "Keep only letters and digits, in lower case",
            "Compare the text with its reverse",
            "Judge each line of input",
        ),
        (
            "Normalise the text: case, spaces and punctuation do not count",
            "Walk from both ends to the middle and compare the characters",
            "Print yes or no for each line",
        ),
    ),
)
FIZZBUZZ = Program(
    "fizzbuzz",
    "FizzBuzz",
    ("fizzbuzz", "fizz buzz", "fizz"),
    (
        ("Decide for each number by a chain of conditions", "Print the numbers up to the limit"),
        ("Put the divisors and their names into a table", "Join the names that apply", "Print up to the limit"),
    ),
    (),
    "LIMIT",
)
CAESAR = Program(
    "caesar",
    "a Caesar cipher",
    ("caesar", "cipher", "encrypt"),
    (
        (
            "Move each letter along the alphabet by the shift and wrap around",
            "Leave everything else as it is",
            "Decrypt with the opposite shift, and show both for each line",
        ),
        (
            "Build a translation table of both alphabets, turned by the shift",
            "Translate whole texts at once; decrypting turns the other way",
            "Encrypt the lines of input, or examples",
        ),
    ),
    (),
    "SHIFT",
)
