"""Fuzzing by hand: ``python -m tests.fuzz TARGET``, as long as asked; prints how much was run. The tests run the same for a bounded time."""
