# SPDX-License-Identifier: BSD-2-Clause
"""What tools/bench runs: NETBLT beside other transports, in network namespaces of its own. See docs/bench.md."""
