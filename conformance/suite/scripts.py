# SPDX-License-Identifier: GPL-2.0-or-later
"""The scripts of `netblt-conformance run --script FILE`: transfers that the generator of peers found to fail."""

from netblt_conformance.generated import saved

globals().update(saved.cases())
