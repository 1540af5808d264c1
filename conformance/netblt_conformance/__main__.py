# SPDX-License-Identifier: GPL-2.0-or-later
"""`python -m netblt_conformance` is the command netblt-conformance."""

import sys

from netblt_conformance.commands.cli import main

if __name__ == "__main__":
    sys.exit(main())
