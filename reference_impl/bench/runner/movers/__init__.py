# SPDX-License-Identifier: BSD-2-Clause
"""tools/bench --movers: programs that move files, netblt and others, on the same paths. See docs/movers.md."""
