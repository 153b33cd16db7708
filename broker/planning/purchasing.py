"""The door from a plan to its purchase: approvals, bought lines, the audit log, the bill."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

from broker.domain.errors import ConfigurationError
from broker.domain.offer import PriceKind
from broker.domain.plan import Plan
from broker.exports.files import line_label
from broker.planning.catalog_view import CatalogSource, CatalogView
from broker.planning.given_plan import is_hash
from broker.planning.nightly.owed import Bought, owed_lines
from broker.planning.plans import verify_plan
from broker.planning.service import PlanningService
from broker.planning.whole_plan import read_whole_plan
from broker.purchases.audit import Entry
from broker.purchases.deciding import Answer, Word, to_buy
from broker.purchases.identity import plan_hash
from broker.purchases.plan_book import PlanBook
from broker.purchases.records import Execution, PlanRecord
from broker.store.database import open_store

_OLD = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Decided:
    """What came of a decision: the plan and what the book says of it now, and remarks to it."""

    answer: Answer
    plan: Plan
    record: PlanRecord
    remarks: tuple[str, ...] = ()
    done: Execution | None = None


class PurchasingService:
    """Takes decisions about plans; the store is opened where it is needed."""

    def __init__(self, planning: PlanningService) -> None:
        self._planning = planning

    @cached_property
    def book(self) -> PlanBook:
        """Open the book of plans.

        Raises:
            ConfigurationError: the database cannot be used.
        """
        return PlanBook(open_store(self._planning.settings))

    def read(self, given: str) -> Plan:
        """Read a plan: a file, or a kept plan by the first eight digits of its hash, or more.

        Raises:
            ConfigurationError: there is no such file or plan.
        """
        path = Path(given)
        if not path.exists() and not is_hash(path):
            raise ConfigurationError(
                f"{given!r} is neither a plan file nor the hash of a kept plan",
                hint="check the path, or take a hash from `gpubroker plans`: 8 digits are enough",
            )
        return read_whole_plan(path, self._planning.settings)

    def approve(
        self,
        given: str,
        *,
        by: str,
        note: str = "",
        workloads: str = "",
        source: CatalogSource | None = None,
    ) -> Decided:
        """Let a person approve a plan, which is checked first unless it was when it was kept.

        `workloads` names the workloads file that it is of; without, it is that of another plan of
        the same file, else the name of the plan's own file. Without a source the catalog is found
        by the plan's hash.

        Raises:
            ConfigurationError: nobody is named, the plan is refused, or it cannot be approved.
        """
        plan = self.read(given)
        digest, now = plan_hash(plan), self._planning.clock()
        word = Word(by.strip(), now, note.strip())
        if not word.person:
            raise ConfigurationError("an approval needs a name", hint="give it: --by NAME")
        remarks: list[str] = []
        if self.book.record(digest) is None:
            self._check(plan, source)
        named = Path(workloads).stem if workloads else ""
        if named or self.book.record(digest) is None:
            for name in (named,) if named else self._names(plan, Path(given), remarks):
                self.book.keep(plan, name, now, by=word.by)
        answer, record = self.book.approve(digest, word)
        remarks += _age(plan, now - plan.catalog.as_of)
        remarks += self._bought_before(plan, record, now)
        return Decided(answer, plan, record, tuple(remarks))

    def execute(
        self, given: str, line: str, *, by: str, reference: str = "", note: str = ""
    ) -> Decided:
        """Note that a line of an approved plan was bought; `line` is its id, or its label.

        Raises:
            ConfigurationError: nobody is named, or the line cannot be bought by this plan.
        """
        plan = self.read(given)
        digest = plan_hash(plan)
        labels = {line_label(one): one for one in to_buy(plan)}
        word = Word(by.strip(), self._planning.clock(), note.strip())
        answer, done, record = self.book.execute(
            digest, labels.get(line, line), word, reference=reference.strip()
        )
        remarks: list[str] = []
        if answer is Answer.AGAIN and reference.strip() not in {"", done.reference}:
            remarks.append(
                f"it was noted with the reference {done.reference or 'none'!r}: if "
                f"{reference.strip()!r} is another purchase, the line was bought twice"
            )
        remarks += self._elsewhere(plan, record, done.line)
        return Decided(answer, plan, record, tuple(remarks), done)

    def standing(self, given: str) -> tuple[Plan, PlanRecord | None]:
        """Tell what the book says of a plan, None where it is not kept."""
        plan = self.read(given)
        return plan, self.book.record(plan_hash(plan))

    def kept(self, workloads: str = "") -> tuple[tuple[Plan, PlanRecord], ...]:
        """List the plans that are kept, of one workloads file or of all, the last one first."""
        name = Path(workloads).stem if workloads else ""
        return tuple(
            (self.book.plan(one.hash), one)
            for one in self.book.records()
            if not name or name in one.workloads
        )

    def audit(self) -> tuple[tuple[Entry, ...], tuple[str, ...]]:
        """List what was done, the oldest first, and what about it does not hold."""
        return self.book.audit()

    def _check(self, plan: Plan, source: CatalogSource | None) -> None:
        """Hold a plan that nobody checked yet to the independent check."""
        planning = self._planning
        view = self._view(plan, source)
        violations = verify_plan(
            plan, plan.workloads, view, specs=planning.specs, settings=planning.settings
        )
        if violations:
            first = violations[0]
            raise ConfigurationError(
                f"the plan is refused: {first.rule} of {first.subject}: {first.message}",
                hint="do not buy by it; make it again with `gpubroker plan`",
            )

    def _view(self, plan: Plan, source: CatalogSource | None) -> CatalogView:
        at = plan.catalog.as_of
        if source is not None:
            return self._planning.view(replace(source, as_of=source.as_of or at))
        recorded = self._planning.offers_from_recordings(as_of=at)
        if recorded.snapshot == plan.catalog.snapshot:
            return recorded
        return self._planning.view(CatalogSource(snapshot=plan.catalog.snapshot, as_of=at))

    def _names(self, plan: Plan, path: Path, remarks: list[str]) -> tuple[str, ...]:
        known = self.book.names_of(plan.workloads_sha256)
        if not known:
            remarks.append(
                f"it is kept as a plan of {path.stem!r}; if its workloads file has another name, "
                "say so: --workloads NAME"
            )
        return known or (path.stem,)

    def _bought_before(self, plan: Plan, record: PlanRecord, now: datetime) -> Iterator[str]:
        """Warn of commitments that an earlier plan of the same workloads bought, before it is late.

        One that the inventory of the plan counts is none of its lines.
        """
        digests = {one for name in record.workloads for one in self.book.executed(name)}
        earlier = [
            Bought(self.book.plan(one.hash), frozenset(done.line for done in one.executed))
            for one in map(self.book.record, sorted(digests - {record.hash}))
            if one is not None
        ]
        for line, owed in owed_lines(plan, frozenset(), earlier, now).items():
            part = "" if owed.is_whole else f", {float(owed.part):.0%} of it,"
            yield (
                f"{line} was bought{part} for an earlier plan: do not buy that again; what is held "
                "belongs under inventory"
            )

    def _elsewhere(self, plan: Plan, record: PlanRecord, line: str) -> Iterator[str]:
        """Warn of a commitment that an earlier plan of the same workloads bought, too."""
        kinds = {one.id: one.price_kind for one in plan.purchases}
        if kinds.get(line) in {PriceKind.ON_DEMAND, PriceKind.SPOT, None}:
            return
        for other in self.book.records():
            if other.hash != record.hash and set(other.workloads) & set(record.workloads):
                for one in other.executed:
                    if one.line == line:
                        yield (
                            f"{line} was executed by {one.actor} on {one.at:%Y-%m-%d} for plan "
                            f"{other.short}, too; what is held belongs under inventory"
                        )


def _age(plan: Plan, age: timedelta) -> Iterator[str]:
    if age > _OLD:
        days = f"{age.days} day{'s' * (age.days != 1)}"
        yield f"its prices are those of {plan.catalog.as_of:%Y-%m-%d %H:%M} UTC, {days} ago"
