"""What of a database is kept from everybody: tables and columns by name, where * stands for any part of it."""

from fnmatch import fnmatchcase

from pydantic import BaseModel, ConfigDict


class Hidden(BaseModel):
    """Tables (`secrets`) and columns (`users.email`, `*.password`). Case does not matter, as in SQL."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    names: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    """If any are named: the only tables that may be read."""

    @classmethod
    def parse(cls, text: str, only: str = "") -> "Hidden":
        """Of names with commas between them."""
        return cls(names=_split(text), only=_split(only))

    def table(self, name: str) -> bool:
        """Whether the table is hidden as a whole, by name."""
        return any(fnmatchcase(name.lower(), hidden.lower()) for hidden in self.names if "." not in hidden)

    def listed(self, name: str) -> bool:
        """Whether the table may be asked for: not hidden, and among the only ones."""
        if self.table(name):
            return False
        return not self.only or any(fnmatchcase(name.lower(), listed.lower()) for listed in self.only)

    def column(self, table: str, name: str) -> bool:
        """Whether this column of the table is hidden, with its table or alone."""
        whole = f"{table}.{name}".lower()
        return self.table(table) or any(fnmatchcase(whole, hidden.lower()) for hidden in self.names if "." in hidden)


def _split(text: str) -> tuple[str, ...]:
    return tuple(name for part in text.split(",") if (name := part.strip().strip('"`')))
