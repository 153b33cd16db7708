"""Fields of a config.json: looked up under any of their names, with an error that has the name."""

from collections.abc import Mapping

from broker.domain.errors import ConfigurationError

_MOST = 10**9
"""No published width, depth or vocabulary comes near; parameters are their products."""


class Fields:
    """The fields of one configuration; `where` stands in messages."""

    def __init__(self, data: Mapping[str, object], where: str) -> None:
        self._data = data
        self.where = where

    @property
    def model_type(self) -> str:
        """Give the kind of model as transformers calls it, empty where it is not said."""
        return self.text("model_type") or ""

    def count(self, *names: str) -> int:
        """Read a whole number above 0.

        Raises:
            ConfigurationError: it is missing, or no such number.
        """
        value = self.count_or_none(*names)
        if value is None:
            raise self.missing(*names)
        if not value:
            stated = next(name for name in names if self._data.get(name) is not None)
            raise self.wrong(f"{stated} is 0, and must be above that")
        return value

    def count_or_none(self, *names: str) -> int | None:
        """Read a whole number from 0 on; None where it is missing or null.

        Raises:
            ConfigurationError: it is no such number.
        """
        for name in names:
            value = self._data.get(name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or value % 1:
                raise self.wrong(f"{name} is {value!r}, no whole number")
            if not 0 <= value <= _MOST:
                raise self.wrong(f"{name} is {value!r}, which no model has")
            return int(value)
        return None

    def given(self, *names: str) -> str | None:
        """Name the first of some fields that says anything; None where none does."""
        return next((name for name in names if self._data.get(name)), None)

    def text(self, *names: str) -> str | None:
        """Read a text; None where there is none."""
        found = (self._data.get(name) for name in names)
        return next((one for one in found if isinstance(one, str)), None)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Read a yes or no."""
        value = self._data.get(name)
        return value if isinstance(value, bool) else default

    def listed(self, name: str) -> tuple[object, ...]:
        """Read a list, empty where there is none."""
        value = self._data.get(name)
        return tuple(value) if isinstance(value, list) else ()

    def wrong(self, what: str) -> ConfigurationError:
        """Say which field cannot be."""
        return ConfigurationError(
            f"{self.where}: {what}", hint="give the config.json as the model's authors publish it"
        )

    def missing(self, *names: str) -> ConfigurationError:
        """Say which field is missing."""
        also = f" (also called {', '.join(names[1:])})" if len(names) > 1 else ""
        return ConfigurationError(
            f"{self.where}: the field {names[0]!r}{also} is missing",
            hint="add it from the model's card, or name a model of the table",
        )
