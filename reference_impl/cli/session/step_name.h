/* SPDX-License-Identifier: BSD-2-Clause */
/* The client string and the reasons with which the two ends of a tree transfer find the next step
 * (docs/tree-transfer.md, "The steps"). */
#ifndef NETBLT_CLI_STEP_NAME_H
#define NETBLT_CLI_STEP_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include <netblt/params.h>

/* With these an end aborts a step, and the active end goes on with another one. */
#define STEP_RESUME "netblt: resume"   /* step 3 */
#define STEP_CHANGED "netblt: changed" /* step 1 */
#define STEP_LATER "netblt: later"     /* step 1, at another time: the active end has a schedule */

#define STEP_ID_BYTES 8 /* the first bytes of a hash */
/* What a name may have, so that the longest step still fits after it. */
#define STEP_NAME_MAX_BYTES 180

enum step_kind {
    STEP_FIRST,   /* 1: the manifest, and content as if nothing were held */
    STEP_HELD,    /* 3: the held list */
    STEP_CONTENT, /* 4, 5: content from `offset` */
};

typedef struct step_name {
    enum step_kind kind;
    char name[NETBLT_STRING_MAX_BYTES + 1]; /* what the user sees: of a file or directory, or empty */
    uint8_t manifest_id[STEP_ID_BYTES];     /* STEP_HELD, STEP_CONTENT; else zeros, as the next two */
    uint8_t held_id[STEP_ID_BYTES];         /* STEP_CONTENT: of the held list; zeros: nothing is held */
    uint64_t offset;                        /* STEP_CONTENT: of the content's first byte */
} step_name;

/* Splits a peer's client string, which may be anything: a text that does not end as a step does is a name as a whole.
 */
void step_name_parse(const char *text, step_name *step);
/* The client string of a step. False, and `text` is empty: the name has more than STEP_NAME_MAX_BYTES bytes, or ends as
 * a step does. */
bool step_name_write(const step_name *step, char text[NETBLT_STRING_MAX_BYTES + 1]);

#endif
