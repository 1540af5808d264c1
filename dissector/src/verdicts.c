/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verdicts.h"

#include "facts.h"

static const struct nb_rule_info rules[NB_RULES] = {
#define NB_RULE_ROW(name, id, slug, reach, summary) {id, slug, NB_REACH_##reach, summary},
    NB_RULE_LIST(NB_RULE_ROW)
#undef NB_RULE_ROW
};

const struct nb_rule_info *nb_rule_info(unsigned rule)
{
    return &rules[rule];
}

struct nb_standing nb_standing_of(const struct nb_stream *stream, unsigned rule)
{
    const struct nb_facts *facts = stream->facts;
    struct nb_standing standing = {0};

    if (facts->blamed != NULL) {
        standing = facts->blamed[rule];
    }
    standing.observations = facts->kept[rule];
    standing.first_kept = facts->first_kept[rule];
    return standing;
}

enum nb_conclusion nb_conclude(const struct nb_standing *standing)
{
    if (standing->violations > 0) {
        return NB_WAS_VIOLATED;
    }
    if (standing->suspicions > 0) {
        return NB_WAS_SUSPECTED;
    }
    return standing->observations > 0 ? NB_WAS_HELD : NB_NOT_OBSERVED;
}
