"""Programs that people use: calculator, lists, converters, reports."""

from rehearsal.catalogue.program import Feature, Program

CALCULATOR = Program(
    "calculator",
    "a simple calculator",
    ("calculator", "arithmetic"),
    (
        (
            "Create functions for the basic operations on whole numbers: add, subtract, multiply, divide",
            "Validate the input and refuse a division by zero with a clear message",
            "Build a small command line that answers one expression a line",
        ),
        (
            "Split an expression into numbers, operators and parentheses",
            "Write a Parser class that respects the order of operations",
            "Report every mistake in an expression with its reason",
            "Answer the expressions that come as input, or show examples",
        ),
    ),
    (
        Feature("floats", ("float", "decimal", "fraction", "real number"), "Support floating point numbers"),
        Feature("sqrt", ("sqrt", "square root"), "Add the square root"),
        Feature("power", ("power", "exponent"), "Add powers"),
        Feature("modulo", ("modulo", "modulus", "remainder"), "Add the modulo operation"),
        Feature("history", ("history", "previous calculation"), "Keep a history of the calculations"),
    ),
)
TODO = Program(
    "todo",
    "a to-do list",
    ("todo", "to do list", "to do app", "task list", "task manage", "checklist"),
    (
        (
            "Create a Task class with its text and whether it is done",
            "Create a TodoList that adds, finishes and removes tasks by number",
            "Build a command line with add, done, remove and list",
        ),
        (
            "Keep the texts by number, and the numbers of the finished tasks in a set",
            "Write the operations add, done and remove with checks of the number",
            "Show the list with check boxes",
            "Read commands from the input",
        ),
    ),
    (Feature("priority", ("priorit", "urgent", "important"), "Let urgent tasks come first"),),
)
TEMPERATURE = Program(
    "temperature",
    "a temperature converter",
    ("temperature", "celsius", "fahrenheit", "unit convert"),
    (
        (
            "Convert the value to Celsius, whatever scale it comes in",
            "Convert Celsius to the wanted scale",
            "Refuse unknown scales and values below absolute zero",
            "Read lines such as 100 C to F",
        ),
        (
            "Describe each scale in a table by the size of its degree and its zero point",
            "Write one formula that converts between any two scales of the table",
            "Check the input against the table and absolute zero, and read it line by line",
        ),
    ),
    (Feature("kelvin", ("kelvin",), "Add the Kelvin scale"),),
)
PASSWORD = Program(
    "password",
    "a password generator",
    ("password", "passphrase"),
    (
        (
            "Take one character of each kind: lower case, upper case, digit, symbol",
            "Fill up to the length with safe random characters and shuffle",
            "Print a few passwords to choose from",
        ),
        (
            "Draw every character at random from all kinds together",
            "Draw again until each kind occurs",
            "Refuse lengths that are too short, and print a few passwords",
        ),
    ),
    (
        Feature(
            "clear",
            ("look alike", "lookalike", "ambiguous", "similar", "confus"),
            "Avoid characters that look alike",
            avoids=True,
        ),
    ),
    "LENGTH",
    4,
)
WORDS = Program(
    "words",
    "a word counter with text statistics",
    ("word count", "count word", "text statistic", "word frequen", "text analy"),
    (
        (
            "Split the text into words without punctuation",
            "Count the words with a Counter and rank them",
            "Report lines, words, characters and the most frequent words",
        ),
        (
            "Find the words with a regular expression",
            "Tally them in a plain dictionary and sort it twice",
            "Print a report of the counts",
            "Use an example where there is no input",
        ),
    ),
    (
        Feature(
            "stopwords",
            ("stop word", "stopword", "ignore common", "without common", "filler"),
            "Ignore common words",
            avoids=True,
        ),
    ),
    "TOP",
)
CSV = Program(
    "csv_summary",
    "a summary of CSV data",
    ("csv", "spreadsheet", "comma separated"),
    (
        (
            "Read the rows by the names in the header",
            "Find the columns that hold only numbers",
            "Calculate count, smallest, largest and mean value with the statistics module",
            "Print one line a column",
        ),
        (
            "Read the rows and go through each column once",
            "Keep a running count, total, minimum and maximum",
            "Report the numeric columns, or say that there are none",
        ),
    ),
)
BANK = Program(
    "bank",
    "a bank account with a ledger",
    ("bank", "ledger", "account balance"),
    (
        (
            "Create an Account that writes deposits and withdrawals into a ledger, in cents",
            "Calculate the balance from the ledger",
            "Refuse overdrafts and amounts that are not positive",
            "Print a statement",
        ),
        (
            "Keep a running total beside the list of entries",
            "Check every amount against the total before booking it",
            "Show the entries and the balance as a statement in euros",
        ),
    ),
    (Feature("interest", ("interest",), "Add yearly interest"),),
)
