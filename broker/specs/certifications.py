"""Certifications: what providers publish of audits, by region.

A row needs a source in which the provider itself, or a table kept by hand with the provider's page
beside it, says that the attestation is held. That a page contains the word is none: one of those
that do goes on to say that the certificate is expected next year. What has no row is not held.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from broker.domain.offer import Place
from broker.specs.areas import area, guarded_areas_of
from broker.specs.facts import Certification
from broker.specs.tables import read_table, text


@dataclass(frozen=True, slots=True)
class CertificationTable:
    """Certifications by (provider, area)."""

    held: Mapping[tuple[str, str], tuple[Certification, ...]]

    def of(self, provider: str, place: Place) -> tuple[Certification, ...]:
        """List what is held for a region, by name; the row of the narrowest area counts."""
        found = {
            one.name: one
            for where in reversed(guarded_areas_of(place))
            for one in self.held.get((provider, where), ())
        }
        return tuple(found[name] for name in sorted(found))


def read_certifications() -> CertificationTable:
    """Read the certifications."""
    held: dict[tuple[str, str], tuple[Certification, ...]] = {}
    for row in read_table("certifications.csv"):
        key = (text(row, "provider"), area(text(row, "region")))
        one = Certification(
            name=text(row, "certification"), scope=text(row, "scope"), source=text(row, "source")
        )
        held[key] = (*held.get(key, ()), one)
    return CertificationTable(held)
