"""What a run proved, in words: faults by kind, sessions by workflow and ending, checks and violations."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from chaos.evidence import Evidence
from chaos.invariants import Verdict, Violation

SHOWN = 20  # violations of one invariant


class Report(NamedTuple):
    """`quiet`: the seconds that the last session took to end once everything ran again."""

    seed: int
    played: Counter[str]
    left_out: Counter[str]
    evidence: Evidence
    verdicts: list[Verdict]
    errors: Counter[str]
    quiet: float

    @property
    def violations(self) -> list[Violation]:
        return [one for verdict in self.verdicts for one in verdict.violations]

    @property
    def unproved(self) -> list[str]:
        """Invariants that there was nothing to check of."""
        return [verdict.name for verdict in self.verdicts if not verdict.checked]

    @property
    def good(self) -> bool:
        return not self.violations and not self.unproved

    def lines(self) -> Iterator[str]:
        yield from _counted("faults", self.played)
        if self.left_out:
            yield from _counted("not played, there was nobody to play them to, or it did not work", self.left_out)
        endings = (f"{one.workflow}: {one.ending or 'none'}" for one in self.evidence.left)
        yield from _counted("sessions", Counter(endings))
        for why, count in Counter(one.why[:160] for one in self.evidence.left if one.why).most_common():
            yield f"    {count} failed: {why}"
        yield f"the last one ended {self.quiet:.1f} s after everything ran again"
        if self.errors:
            yield from _counted("refusals", self.errors)
        yield f"events {sum(map(len, self.evidence.log.values()))}, sockets {len(self.evidence.shown)}, {self._ends()}"
        yield f"the suite stood still for {self.evidence.stalls:.2f} s at the most, {self._starved()}"
        yield ""
        for verdict in self.verdicts:
            noted = f"  ({', '.join(verdict.noted)})" if verdict.noted else ""
            state = f"{len(verdict.violations)} violations" if verdict.violations else "holds"
            yield f"{verdict.name}  {verdict.title:45} {verdict.checked:7} checked  {state}{noted}"
            for one in verdict.violations[:SHOWN]:
                yield f"      {one.where}: {one.what}"
        for name in self.unproved:
            yield f"{name} was not proved: nothing was there to check"

    def _starved(self) -> str:
        longest = max((one.starved for one in self.evidence.exits), default=0.0)
        return f"a program that was leaving waited for the processor for {longest:.2f} s"

    def _ends(self) -> str:
        ends = Counter(one.asked or "by itself" for one in self.evidence.exits)
        return f"ends of programs: {', '.join(f'{count} {how}' for how, count in sorted(ends.items()))}"


def _counted(title: str, counts: Counter[str]) -> Iterator[str]:
    yield f"{title}: {counts.total()}"
    kinds: dict[str, list[str]] = {}
    for name, count in sorted(counts.items()):
        kind, _, target = name.partition(" ")
        kinds.setdefault(kind, []).append(f"{target} {count}".strip())
    for kind, targets in kinds.items():
        yield f"    {kind:16} {', '.join(targets)}"
