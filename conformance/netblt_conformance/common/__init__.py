# SPDX-License-Identifier: GPL-2.0-or-later
"""What every part of the package uses: paths, parameters, tolerances, verdicts, text that is fit to be shown."""
