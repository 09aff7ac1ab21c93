"""docs/messages.md says what the declarations say."""

from __future__ import annotations

from pathlib import Path

from wddm.wire.api import API
from wddm.wire.bus import BUS
from wddm.wire.document import page
from wddm.wire.thunk import THUNK


def test_the_page_is_that_of_the_declarations() -> None:
    written = (Path(__file__).parents[3] / "docs" / "messages.md").read_text()
    assert written == page(), "make it again: ./dev python -m wddm.wire.document > docs/messages.md"


def test_every_message_is_told_with_its_fields() -> None:
    text = page()
    for protocol in (API, THUNK, BUS):
        for method, declaration in protocol.by_method.items():
            assert f"### `{method}`\n" in text
            assert declaration.struct.__doc__
            assert not declaration.struct.__doc__.startswith(f"{declaration.struct.__name__}("), "it has no words of its own"
