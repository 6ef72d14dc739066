"""The paper's experiments, done again: ``python -m offgrid experiments``.

Entry points: `offgrid.experiments.tables.carry_out` (what the command line calls), and, for showing what is kept in the
package, `offgrid.experiments.store.load_rows`, `load_about` and `load_paper`.
"""
