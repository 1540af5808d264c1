# SPDX-License-Identifier: GPL-2.0-or-later
"""The report as one HTML page that needs nothing else, with a view of each result that shows what happened."""
