"""Hidden tables and columns, by name patterns with *."""

from fnmatch import fnmatchcase

from pydantic import BaseModel, ConfigDict


class Hidden(BaseModel):
    """Tables (`secrets`) and columns (`users.email`, `*.password`). Case does not matter, as in SQL."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    names: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    """The only tables that may be read, if any are named."""

    @classmethod
    def parse(cls, text: str, only: str = "") -> "Hidden":
        """Parse comma-separated names."""
        return cls(names=_split(text), only=_split(only))

    def hides_table(self, name: str) -> bool:
        """Whether the whole table is hidden."""
        return any(fnmatchcase(name.lower(), hidden.lower()) for hidden in self.names if "." not in hidden)

    def allows_table(self, name: str) -> bool:
        """Whether the table may be read: not hidden, and in `only` if that is set."""
        if self.hides_table(name):
            return False
        return not self.only or any(fnmatchcase(name.lower(), listed.lower()) for listed in self.only)

    def hides_column(self, table: str, name: str) -> bool:
        """Whether this column is hidden, alone or with its table."""
        whole = f"{table}.{name}".lower()
        return self.hides_table(table) or any(
            fnmatchcase(whole, hidden.lower()) for hidden in self.names if "." in hidden
        )


def _split(text: str) -> tuple[str, ...]:
    return tuple(name for part in text.split(",") if (name := part.strip().strip('"`')))
