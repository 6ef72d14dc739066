"""Other packages to compare with, each in an environment of its own.

Entry points: `installation` makes the environments and runs in them; ``run_*.py`` are run by their interpreters, one
for each package, and know nothing of this project. Each reads a JSON object from standard input and prints one.
"""
