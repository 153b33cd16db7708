"""Slack: an incoming webhook, one message a run.

Wire:   POST of `{"text", "blocks"}` as JSON; 200 and `ok`, or an error such as `invalid_payload`.
Limits: 50 blocks; 150 characters of a header, 3000 of a section; about 13,000 characters in all
        blocks of a message (seen as msg_blocks_too_long, which the documentation does not state).
Quirk:  it has no idempotency key. The key stands in small print, so that a message which came
        twice can be told from two.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence

from pydantic import SecretStr

from broker.alerts.news import Event, Message, News, details, heading
from broker.alerts.scrub import NO_SECRETS, Scrub, scrub_of
from broker.alerts.sinks.posting import Post, Poster
from broker.clock import Clock

_MOST_BLOCKS = 50
_MOST_IN_HEADER = 150
_MOST_IN_SECTION = 3000
_MOST_IN_ALL = 11_000
_FRAME_BLOCKS = 3
"""Blocks beside those of the alerts: the header, what was left out, the key."""

Block = dict[str, object]


class Slack:
    """Posts to one channel."""

    name = "slack"

    def __init__(
        self,
        url: SecretStr,
        *,
        clock: Clock,
        scrub: Scrub = NO_SECRETS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        own = Scrub((*scrub.forms, *scrub_of([url]).forms))
        self._poster = Poster(url.get_secret_value(), "Slack", scrub=own, clock=clock, sleep=sleep)

    def deliver(self, message: Message) -> None:
        """Post a message.

        Raises:
            DeliveryError: Slack did not take it.
        """
        body = json.dumps(_payload(message)).encode()
        self._poster.post(lambda: Post({}, body))

    def preview(self, message: Message) -> str:
        """Show the JSON that would be posted."""
        payload = json.dumps(_payload(message), indent=2, ensure_ascii=False)
        return f"POST https://{self._poster.host}/…\n{payload}\n"


def _payload(message: Message) -> dict[str, object]:
    return {"text": escaped(message.title, _MOST_IN_SECTION), "blocks": list(_blocks(message))}


def _blocks(message: Message) -> Iterator[Block]:
    heading_text = message.title if len(message.news) != 1 else heading(message.news[0])
    text = _shortened(" ".join(heading_text.split()), _MOST_IN_HEADER)
    yield {"type": "header", "text": {"type": "plain_text", "text": text, "emoji": False}}
    sections, left_out = _fitting(message)
    for section in sections:
        yield _section(section)
    if left_out:
        yield _small(f"{left_out} more: gpubroker alerts list")
    yield _small(f"{message.made_at:%Y-%m-%d %H:%M} UTC · {message.key}")


def _fitting(message: Message) -> tuple[Sequence[str], int]:
    """Take as many alerts as a message holds, and count those that it does not."""
    if message.text:
        return [escaped(message.text, _MOST_IN_SECTION)], 0
    texts: list[str] = []
    size = 0
    for one in message.news:
        text = _text_of(one, alone=len(message.news) == 1)
        size += len(text)
        if len(texts) == _MOST_BLOCKS - _FRAME_BLOCKS or size > _MOST_IN_ALL:
            break
        texts.append(text)
    return texts, len(message.news) - len(texts)


def _text_of(news: News, *, alone: bool) -> str:
    """Write one alert; the command comes last and is never cut."""
    end = ""
    if news.event is not Event.MENDED:
        end = f"\n```{escaped(news.alert.action, 600).replace('```', '’’’')}```"
    lines = [f"• {escaped(line, 400)}" for line in details(news)]
    head = [] if alone else [f"*{escaped(heading(news), 300)}*"]
    room = _MOST_IN_SECTION - len(end)
    kept: list[str] = []
    for line in [*head, *lines]:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join(kept) + end


def escaped(text: str, most: int) -> str:
    """Escape the three characters that Slack reads, cutting at most so many characters.

    No entity is cut in two. <!channel> and <@user> come out as the text that they are.
    """
    entities = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
    parts = [entities.get(one, one) for one in text]
    if sum(map(len, parts)) <= most:
        return "".join(parts)
    kept: list[str] = []
    room = most - 1
    for part in parts:
        room -= len(part)
        if room < 0:
            break
        kept.append(part)
    return "".join(kept) + "…"


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _section(text: str) -> Block:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


def _small(text: str) -> Block:
    return {
        "type": "context",
        "elements": [{"type": "plain_text", "text": text, "emoji": False}],
    }
