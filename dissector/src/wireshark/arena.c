/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that is kept until the file is closed: records, notes, states of connections. */
#ifdef __linux__
#define _DEFAULT_SOURCE /* madvise */
#endif
#include "wireshark/arena.h"

#include "wireshark/memory.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

/* Pieces double from the first size to the last, so that small captures need little memory. */
#define FIRST_PIECE ((size_t)64 << 10)
#define LAST_PIECE ((size_t)32 << 20)
#define HUGE_PAGE ((size_t)2 << 20)
#define ALIGNMENT sizeof(int64_t)

static uint8_t *next;     /* in file scope; NULL before the first piece */
static size_t left;       /* bytes from there on */
static size_t next_piece; /* its size */

static void forget(void)
{
    next = NULL;
    left = 0;
    next_piece = FIRST_PIECE;
}

void nb_register_arena(void)
{
    register_init_routine(forget);
    register_cleanup_routine(forget);
}

/* Begins the piece where a huge page can begin, and asks for such pages. What is before costs no memory: it is never
 * used. Nothing depends on whether the system has them. */
static void ask_for_huge_pages(void)
{
#ifdef MADV_HUGEPAGE
    const size_t before = (HUGE_PAGE - (uintptr_t)next % HUGE_PAGE) % HUGE_PAGE;

    if (left >= before + HUGE_PAGE) {
        next += before;
        left -= before;
        (void)madvise(next, left - left % HUGE_PAGE, MADV_HUGEPAGE);
    }
#endif
}

static void make_piece(void)
{
    next = (uint8_t *)wmem_alloc(wmem_file_scope(), next_piece);
    left = next_piece;
    next_piece = MIN(next_piece * 2, LAST_PIECE);
    ask_for_huge_pages();
}

void *nb_arena_new0(size_t bytes)
{
    nb_memory_take(bytes);
    if (NB_SANITIZED || bytes > FIRST_PIECE) {
        return wmem_alloc0(wmem_file_scope(), bytes);
    }
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (bytes > left) {
        make_piece();
    }
    void *memory = next;
    next += bytes;
    left -= bytes;
    return memset(memory, 0, bytes);
}
