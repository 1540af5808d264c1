# SPDX-License-Identifier: BSD-2-Clause
"""tools/bench --space: programs that move files on the paths of satellites and deep space. See docs/space.md."""
