"""The page of settings has every one of them, with the default and the meaning that it has."""

from pydantic_core import PydanticUndefined

from broker.planning.starting import setting_texts
from broker.settings import Settings


def test_every_setting_is_on_the_page(pages: dict[str, str]) -> None:
    page = pages["docs/settings.md"]
    for name, text in setting_texts().items():
        default = Settings.model_fields[name].default
        if name in ("keys", "regions"):
            continue
        if default is PydanticUndefined:
            shown = "the platform's data folder"
        elif isinstance(default, bool):
            shown = f"`{str(default).lower()}`"
        else:
            shown = "none" if default in (None, ()) else f"`{default}`"
        assert f"| `{name}` | {shown} | {text} |" in page
