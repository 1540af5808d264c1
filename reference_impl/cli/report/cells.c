/* SPDX-License-Identifier: BSD-2-Clause */
/* Cells of a terminal that a text takes: see cells.h. */
#include "cli/report/cells.h"

#include <locale.h>
#include <string.h>
#include <wchar.h>

#include "cli/report/text.h"

#define CELLS_MAX 2 /* of a character */
#define ELLIPSIS "..."
#define ELLIPSIS_CELLS (sizeof ELLIPSIS - 1)

static locale_t utf8; /* 0: not there */

void cells_begin(void)
{
    if (utf8 == (locale_t)0)
        utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

static size_t cells_of_character(uint32_t code)
{
    locale_t before;
    int cells;
    if (code < 0x80)
        return 1;
    if (utf8 == (locale_t)0)
        return CELLS_MAX;
    before = uselocale(utf8);
    cells = wcwidth((wchar_t)code);
    uselocale(before);
    return cells < 0 ? CELLS_MAX : (size_t)cells;
}

/* Bytes of the longest beginning of `text` within the limits; *used becomes its cells. */
static size_t measure(const char *text, size_t cells, size_t capacity, size_t *used)
{
    size_t bytes = 0;
    *used = 0;
    while (text[bytes] != '\0') {
        text_piece piece = text_next(text + bytes);
        size_t width = cells_of_character(piece.code);
        if (*used + width > cells || bytes + piece.bytes >= capacity)
            break;
        *used += width;
        bytes += piece.bytes;
    }
    return bytes;
}

size_t cells_of(const char *text)
{
    size_t used;
    (void)measure(text, SIZE_MAX, SIZE_MAX, &used);
    return used;
}

size_t cells_cut(const char *text, size_t cells, char *to, size_t capacity)
{
    size_t used;
    size_t bytes = measure(text, cells, capacity, &used);
    bool marked = text[bytes] != '\0' && cells > ELLIPSIS_CELLS && capacity > sizeof ELLIPSIS;
    if (marked)
        bytes = measure(text, cells - ELLIPSIS_CELLS, capacity - ELLIPSIS_CELLS, &used);
    memcpy(to, text, bytes);
    memcpy(to + bytes, marked ? ELLIPSIS : "", marked ? sizeof ELLIPSIS : 1);
    return used + (marked ? ELLIPSIS_CELLS : 0);
}
