"""`python -m meco` is the command line."""

import sys

from meco.cli import main

sys.exit(main())
