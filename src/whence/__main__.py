"""`python -m whence` is the `whence` command."""

import sys

from whence.cli import main

sys.exit(main())
