"""The report of a run: faults by kind, sessions by workflow and ending, checks and violations."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from chaos.evidence import Evidence
from chaos.invariant_check import InvariantCheck, Violation

MAX_VIOLATIONS_SHOWN = 20  # of one invariant


class ChaosReport(NamedTuple):
    """`recovery_seconds`: from the restoration of the deployment to the end of the last session.

    `longest_stall`: seconds for which the suite itself was blocked.
    """

    injected: Counter[str]
    skipped: Counter[str]
    evidence: Evidence
    verdicts: list[InvariantCheck]
    errors: Counter[str]
    recovery_seconds: float
    longest_stall: float

    @property
    def violations(self) -> list[Violation]:
        return [violation for verdict in self.verdicts for violation in verdict.violations]

    @property
    def unchecked(self) -> list[str]:
        """Invariants without a single check."""
        return [verdict.name for verdict in self.verdicts if not verdict.checked]

    @property
    def passed(self) -> bool:
        return not self.violations and not self.unchecked

    def lines(self) -> Iterator[str]:
        yield from _count_lines("faults", self.injected)
        if self.skipped:
            yield from _count_lines("skipped faults, without a target or failed", self.skipped)
        endings = (f"{item.workflow}: {item.ending or 'none'}" for item in self.evidence.user_outcomes)
        yield from _count_lines("sessions", Counter(endings))
        for reason, count in Counter(
            item.reason[:160] for item in self.evidence.user_outcomes if item.reason
        ).most_common():
            yield f"    {count} failed: {reason}"
        yield f"the last session ended {self.recovery_seconds:.1f} s after everything ran again"
        if self.errors:
            yield from _count_lines("refusals", self.errors)
        events, sockets = sum(map(len, self.evidence.log.values())), len(self.evidence.socket_records)
        yield f"events {events}, sockets {sockets}, {self._exit_causes()}"
        yield f"the suite was blocked for up to {self.longest_stall:.2f} s, {self._starved()}"
        yield ""
        for verdict in self.verdicts:
            notes = ", ".join(f"{count} {text}" for text, count in sorted(verdict.notes.items()))
            state = f"{len(verdict.violations)} violations" if verdict.violations else "holds"
            line = f"{verdict.name}  {verdict.title:45} {verdict.checked:7} checked  {state}"
            yield f"{line}  ({notes})" if notes else line
            for item in verdict.violations[:MAX_VIOLATIONS_SHOWN]:
                yield f"      {item.where}: {item.description}"
        for name in self.unchecked:
            yield f"{name} was not checked: the run had nothing to check it on"

    def _starved(self) -> str:
        longest = max((process_exit.starved_seconds for process_exit in self.evidence.exits), default=0.0)
        return f"an exiting process waited for a processor for {longest:.2f} s"

    def _exit_causes(self) -> str:
        ends = Counter(process_exit.cause or "by itself" for process_exit in self.evidence.exits)
        return f"exits: {', '.join(f'{count} {how}' for how, count in sorted(ends.items()))}"


def _count_lines(title: str, counts: Counter[str]) -> Iterator[str]:
    yield f"{title}: {counts.total()}"
    kinds: dict[str, list[str]] = {}
    for name, count in sorted(counts.items()):
        kind, _, target = name.partition(" ")
        kinds.setdefault(kind, []).append(f"{target} {count}".strip())
    for kind, targets in kinds.items():
        yield f"    {kind:16} {', '.join(targets)}"
