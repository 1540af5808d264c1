/* SPDX-License-Identifier: BSD-2-Clause */
/* Cells of a terminal that a text takes, and text cut to a number of cells. */
#ifndef NETBLT_CLI_CELLS_H
#define NETBLT_CLI_CELLS_H

#include <stddef.h>

/* All of these take UTF-8 as text_printable() leaves it. The width of a character comes from the C library's locale
 * C.UTF-8: letters take one cell, East Asian ideographs and most emoji two, combining marks none. Without that locale,
 * and for characters that the C library does not know, a character outside ASCII counts as two cells, so that a line
 * is never longer than it was counted. */

/* Reads the locale. Call it once, before the process may no longer open files. */
void cells_begin(void);
/* Cells that `text` takes. */
size_t cells_of(const char *text);
/* Copies the longest beginning of `text` that takes at most `cells` cells and, with its NUL, `capacity` bytes; a text
 * that does not fit ends in "..." where there is room for more than that. Returns the cells that the copy takes. */
size_t cells_cut(const char *text, size_t cells, char *to, size_t capacity);

#endif
