"""A page without what would steer the terminal: names in it come from outside."""

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment

from broker.reports.steering import printable_lines


@dataclass(frozen=True, slots=True)
class Printable:
    """What is laid out, gone over once it is drawn; its own colours stay."""

    page: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the page."""
        for text, style, control in console.render(self.page, options):
            yield Segment(printable_lines(text), style, control)
