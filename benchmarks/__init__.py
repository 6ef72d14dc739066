"""Measurements of this package beside plain NumPy and other packages: ``python -m offgrid benchmark``.

One module a group of measurements (`critical_values`, `clusterings`, `searches`, `engine`, `recommendation`), what they
share (`rulers`: the plain NumPy to compare with; `cases`: data and partitions; `timing`; `measurement`; `worker`: a
process of its own; `peers`: other packages), `suite` that runs them, and `report` and `figure` that show what came out.
`first_view` and `selection` measure the dashboard, each a script of its own.
"""
