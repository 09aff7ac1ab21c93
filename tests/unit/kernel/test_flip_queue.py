"""The flip queue of one source, vertical sync by vertical sync."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kernel.display.flip_queue import Flip, FlipActions, FlipKind, FlipQueue


class Screen:
    """Hardware that latches what is armed."""

    def __init__(self) -> None:
        self.queue = FlipQueue()
        self.armed: Flip | None = None
        self.address = 0
        self.shown: list[object] = []
        self.dropped: list[object] = []
        self.released: list[object] = []

    def take(self, actions: FlipActions) -> None:
        if actions.arm is not None:
            self.armed = actions.arm
            if actions.arm.kind is FlipKind.TEARING:
                self.address, self.armed = actions.arm.address, None
        self.shown += [f.token for f in actions.shown]
        self.dropped += [f.token for f in actions.dropped]
        self.released += [f.token for f in actions.released]

    def flip(self, token: object, interval: int = 1, *, kind: FlipKind = FlipKind.VSYNC, restart: bool = False) -> None:
        address = 1000 + hash(token) % 7
        self.take(self.queue.add(Flip(address, interval, token, kind), restart=restart))

    def vsync(self, times: int = 1) -> None:
        for _ in range(times):
            if self.armed is not None:
                self.address, self.armed = self.armed.address, None
            self.take(self.queue.vsync(self.address))


def test_the_example_of_the_reference() -> None:
    screen = Screen()
    for token, interval in (("A", 3), ("B", 0), ("C", 0), ("D", 1), ("E", 0)):
        screen.flip(token, interval)
    screen.vsync()
    assert screen.shown == ["A"]
    screen.vsync()
    assert screen.shown == ["A", "D"]
    screen.vsync()
    assert screen.shown == ["A", "D", "E"]
    assert screen.dropped == ["B", "C"]
    assert screen.released == ["A", "D"]
    screen.vsync(5)
    assert screen.queue.displayed is not None
    assert screen.queue.displayed.token == "E"


def test_intervals_hold() -> None:
    for interval in (1, 2, 3, 4):
        screen = Screen()
        times = []
        for token in range(4):
            screen.flip(token, interval)
        for _ in range(16):
            before = len(screen.shown)
            screen.vsync()
            if len(screen.shown) > before:
                times.append(screen.queue.vblank)
        assert times == [1 + interval * n for n in range(4)]


def test_a_late_flip_is_not_punished() -> None:
    screen = Screen()
    screen.flip("a", 2)
    screen.vsync(5)
    screen.flip("b", 2)
    screen.vsync()
    assert screen.shown == ["a", "b"]


def test_a_vertical_sync_from_before_the_arming_retires_nothing() -> None:
    screen = Screen()
    screen.flip("a")
    screen.take(screen.queue.vsync(screen.address))
    assert screen.shown == []
    screen.vsync()
    assert screen.shown == ["a"]


def test_an_armed_frame_that_gives_way_is_free_only_when_the_newer_one_is_seen() -> None:
    screen = Screen()
    screen.flip("a", 1)
    screen.vsync()
    screen.flip("b", 0)
    screen.flip("c", 0)
    assert screen.dropped == []
    screen.vsync()
    assert (screen.shown, screen.dropped) == (["a", "c"], ["b"])


def test_repeat_counts_without_programming() -> None:
    screen = Screen()
    screen.flip("a")
    screen.vsync()
    address = screen.address
    screen.flip("again", 2, kind=FlipKind.REPEAT)
    assert screen.armed is None
    screen.flip("b")
    screen.vsync(2)
    assert screen.shown == ["a", "again"]
    assert screen.address == address
    screen.vsync()
    assert screen.shown == ["a", "again", "b"]
    assert sorted(map(str, screen.released)) == ["a", "again"]


def test_restart_and_clear() -> None:
    screen = Screen()
    for token in "abc":
        screen.flip(token)
    screen.flip("d", restart=True)
    assert screen.dropped == ["b", "c"]
    screen.vsync()
    screen.take(screen.queue.clear())
    assert (screen.shown, screen.dropped, screen.released) == (["a"], ["b", "c", "d"], ["a"])


def test_tearing_is_at_once_and_overtakes() -> None:
    screen = Screen()
    screen.flip("a")
    screen.vsync()
    screen.flip("b")
    screen.flip("c")
    screen.flip("now", 0, kind=FlipKind.TEARING)
    assert screen.shown == ["a", "now"]
    assert sorted(map(str, screen.dropped)) == ["b", "c"]


_events = st.lists(
    st.one_of(
        st.none(), st.tuples(st.integers(0, 4), st.sampled_from([FlipKind.VSYNC] * 4 + list(FlipKind)), st.booleans())
    ),
    max_size=60,
)


@settings(max_examples=200, deadline=None)
@given(_events)
def test_every_flip_ends_once(events: list[tuple[int, FlipKind, bool] | None]) -> None:
    screen = Screen()
    count = 0
    for event in events:
        if event is None:
            screen.vsync()
        else:
            interval, kind, restart = event
            screen.flip(count, interval, kind=kind, restart=restart)
            count += 1
    screen.vsync(300)
    ended = screen.shown + screen.dropped
    assert sorted(ended) == list(range(count))  # type: ignore[type-var]
    assert screen.shown == sorted(screen.shown)  # type: ignore[type-var]
    on_screen = [] if screen.queue.displayed is None else [screen.queue.displayed.token]
    assert sorted(screen.released + on_screen) == sorted(screen.shown)  # type: ignore[operator]
