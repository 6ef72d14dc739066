"""What the fork server imports once, so that a job starts in tens of milliseconds.

Imports only: no threads, no work. An import that fails must not keep the fork server from starting.
"""

from __future__ import annotations

import contextlib

with contextlib.suppress(ImportError):
    import dash  # noqa: F401 - Dash's part of the job
    import scipy.optimize  # noqa: F401

    import offgrid.search  # noqa: F401
    import services.jobs  # noqa: F401
