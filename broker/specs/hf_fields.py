"""Fields of a config.json: looked up under any of their names, with an error that has the name."""

from collections.abc import Mapping

from broker.domain.errors import ConfigurationError


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
        return value

    def count_or_none(self, *names: str) -> int | None:
        """Read a whole number; None where it is missing or null.

        Raises:
            ConfigurationError: it is no whole number.
        """
        for name in names:
            value = self._data.get(name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or value % 1:
                raise ConfigurationError(
                    f"{self.where}: {name} is {value!r}, no whole number",
                    hint="give the config.json as the model's authors publish it",
                )
            return int(value)
        return None

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

    def missing(self, *names: str) -> ConfigurationError:
        """Say which field is missing."""
        also = f" (also called {', '.join(names[1:])})" if len(names) > 1 else ""
        return ConfigurationError(
            f"{self.where}: the field {names[0]!r}{also} is missing",
            hint="add it from the model's card, or name a model of the table",
        )
