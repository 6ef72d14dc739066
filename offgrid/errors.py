"""The one error that is meant for people."""

from __future__ import annotations


class InputError(ValueError):
    """A value that was given cannot be used.

    The message is one sentence, fit to be shown to a person as it is: what was given, what is allowed, what to do.
    """


class InputTypeError(InputError, TypeError):
    """The same for a value of a wrong type, which scikit-learn expects to be a TypeError."""
