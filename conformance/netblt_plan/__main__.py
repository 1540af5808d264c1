# SPDX-License-Identifier: GPL-2.0-or-later
"""`python -m netblt_plan` is the command netblt-plan."""

import sys

from netblt_plan.cli import main

if __name__ == "__main__":
    sys.exit(main())
