"""Where the plans of a night are: in the book of the database, or in memory for a dry run."""

from datetime import datetime

from sqlalchemy import Engine

from broker.domain.plan import Plan
from broker.planning.nightly.owed import Bought, OwedLines, owed_lines
from broker.purchases.audit import Action, read_log
from broker.purchases.identity import plan_hash
from broker.purchases.plan_book import PlanBook
from broker.store.database import reading


class Keeping:
    """The plans of one workloads file; a dry run reads the book and writes nothing into it.

    Every method raises ConfigurationError where the database cannot be used.
    """

    def __init__(self, engine: Engine, workloads: str, *, dry_run: bool = False) -> None:
        self.engine = engine
        self._book = PlanBook(engine)
        self._workloads = workloads
        self._dry_run = dry_run
        self._known: dict[str, Plan] = {}

    def in_force(self) -> Plan | None:
        """Give the plan that people act on, None before the first."""
        return self._book.in_force(self._workloads)

    def remember(self, plan: Plan) -> str:
        """Give the hash of a plan of the book, and have it at hand."""
        digest = plan_hash(plan)
        self._known[digest] = plan
        return digest

    def keep(self, plan: Plan, now: datetime) -> str:
        """Keep a plan as a draft and give its hash; in a dry run it is at hand alone."""
        if self._dry_run:
            return self.remember(plan)
        return self._book.keep(plan, self._workloads, now).hash

    def plan(self, digest: str) -> Plan:
        """Give a plan by its hash, as it was kept.

        Raises:
            ConfigurationError: it is not kept.
        """
        if digest not in self._known:
            self._known[digest] = self._book.plan(digest)
        return self._known[digest]

    def adopt(self, digest: str, now: datetime) -> None:
        """Let a plan be the one in force, once a night: a step that is made again finds it done."""
        if not self._dry_run and not self._was_adopted(digest, now):
            self._book.adopt(digest, now)

    def bought(self, digest: str) -> frozenset[str]:
        """Name the lines of a plan that were executed."""
        record = self._book.record(digest) if digest else None
        return frozenset(one.line for one in record.executed) if record else frozenset()

    def owed(self, digest: str, now: datetime) -> OwedLines:
        """Find what is owed of a plan, whether it was bought by that or by an earlier one."""
        earlier = [
            Bought(self.plan(one), self.bought(one))
            for one in self._book.executed(self._workloads)
            if one != digest
        ]
        return owed_lines(self.plan(digest), self.bought(digest), earlier, now)

    def _was_adopted(self, digest: str, now: datetime) -> bool:
        with reading(self.engine) as connection:
            log = read_log(connection)
        return any(
            (one.deed.action, one.deed.plan_hash, one.at) == (Action.ADOPTED, digest, now)
            for one in log
        )
