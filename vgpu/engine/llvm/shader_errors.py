"""What the compiled path says when it does not know something yet."""


class UnsupportedError(Exception):
    """What the compiled path does not do yet; the argument is the reason that is counted."""
