"""``python -m offgrid``: the command line of `offgrid.cli`."""

import sys

from offgrid.cli import main

if __name__ == "__main__":
    sys.exit(main())
