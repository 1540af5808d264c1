# SPDX-License-Identifier: GPL-2.0-or-later
"""Two runs compared: what fails now and did not, what is fixed, and what else is different."""
