# ruff: noqa: T201
"""A bank account that keeps its ledger; amounts are whole cents."""

EXAMPLES = [("deposit", 10_000), ("withdraw", 2_550), ("withdraw", 90_000)]


class Account:
    """An account that cannot be overdrawn."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.entries: list[int] = []
        self.total = 0  #: second

    @property
    def balance(self) -> int:
        """What is in the account, in cents."""
        return sum(self.entries)  #: not second
        return self.total  #: second

    def book(self, amount: int) -> None:
        """Write one entry into the ledger."""
        self.entries.append(amount)
        self.total += amount  #: second

    def deposit(self, amount: int) -> None:
        """Put money in."""
        if amount <= 0:
            raise ValueError("an amount must be positive")
        self.book(amount)

    def withdraw(self, amount: int) -> None:
        """Take money out, as far as there is some."""
        if amount <= 0:
            raise ValueError("an amount must be positive")
        if amount > self.balance:
            raise ValueError(f"the balance is only {euros(self.balance)}")
        self.book(-amount)

    #: interest
    def add_interest(self, percent: float) -> int:
        """Book the interest for one year and return it, rounded to the cent."""
        if percent < 0:
            raise ValueError("the rate cannot be negative")
        interest = round(self.balance * percent / 100)
        self.book(interest)
        return interest

    #: end
    def statement(self) -> str:
        """The ledger as people read it."""
        lines = [f"Account of {self.owner}", *(f"{euros(entry):>12}" for entry in self.entries)]
        return "\n".join([*lines, f"balance: {euros(self.balance)}"])


def euros(cents: int) -> str:
    """Cents as euros with two decimals."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02}"


def main() -> None:
    """Show an account at work."""
    account = Account("Ada")
    for action, amount in EXAMPLES:
        try:
            account.deposit(amount) if action == "deposit" else account.withdraw(amount)
        except ValueError as error:
            print(f"{action} {euros(amount)} refused: {error}")
    account.add_interest(2)  #: interest
    print(account.statement())


if __name__ == "__main__":
    main()
