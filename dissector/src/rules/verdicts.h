/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requirements that a capture can verify, and the result of each connection for each of them. */
#ifndef NETBLT_VERDICTS_H
#define NETBLT_VERDICTS_H

#include "connection/stream.h"
#include "rules/rules-table.h"

/* How much a capture can prove at best. */
enum nb_reach {
    NB_REACH_VIOLATION, /* a breach can be proven */
    NB_REACH_SUSPECTED, /* never more than suspected: the packets that would
                           excuse it need not be visible */
    NB_REACH_OBSERVED,  /* only that it was kept; a breach leaves no trace, or is
                           noted without a fault */
};

/* Dialects in which a rule holds are a set of bits. */
#define NB_IN(dialect) (1U << NB_##dialect)

enum nb_rule {
#define NB_RULE_NAME(name, id, slug, reach, dialects, summary) NB_RULE_##name,
    NB_RULE_LIST(NB_RULE_NAME)
#undef NB_RULE_NAME
        NB_RULES
};

struct nb_rule_info {
    const char *id;   /* "CTRL-04" */
    const char *slug; /* netblt.analysis.<slug> */
    enum nb_reach reach;
    unsigned dialects; /* NB_IN(RFC998) | ... */
    const char *summary;
};

/* rule: 0 .. NB_RULES-1 */
const struct nb_rule_info *nb_rule_info(unsigned rule);

/* The rule of a requirement ("CTRL-04"); NB_RULES when it has none. */
unsigned nb_rule_of(const char *id);

/* It holds in the dialect of this connection. Reports of other rules are dropped, so that one piece of code judges
 * every dialect. */
bool nb_rule_holds(const struct nb_stream *stream, unsigned rule);

/* The rule with the same content as this one in this dialect; NB_RULES when there is none. RFC 1030 states as
 * experience what RFC 998 demands, and RFC 1986 demands some of it again: a violation is reported for that one alone,
 * and this is found by its filter. It is held as long as none of those is violated. */
enum nb_rule nb_rule_same(enum nb_rule rule, enum nb_dialect dialect);

/* The result of a rule for a connection. Frames are 0 when there is none. */
struct nb_standing {
    uint32_t observations; /* how often it was put to the test and kept */
    uint32_t first_kept;
    uint32_t violations;
    uint32_t first_violation; /* the frame that breaks it */
    uint32_t first_proof;     /* the frame that leaves no other explanation; often the same */
    uint32_t suspicions;
    uint32_t first_suspicion;
};

enum nb_conclusion { NB_NOT_OBSERVED, NB_WAS_HELD, NB_WAS_SUSPECTED, NB_WAS_VIOLATED, NB_CONCLUSIONS };

/* To be called once when the protocol is registered. */
void nb_register_verdicts(void);

/* The rule was put to the test in this frame and kept. */
void nb_standing_keep(const struct nb_stream *stream, enum nb_rule rule, uint32_t frame);

/* What was found of the rule so far, to be brought up to date. */
struct nb_standing *nb_standing_findings(const struct nb_stream *stream, enum nb_rule rule);

struct nb_standing nb_standing_of(const struct nb_stream *stream, unsigned rule);

/* The worst that was seen. */
enum nb_conclusion nb_conclude(const struct nb_standing *standing);

#endif
