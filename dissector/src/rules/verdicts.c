/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The results of the rules for each connection. */
#include "rules/verdicts.h"

#include "wireshark/memory.h"

static const struct nb_rule_info rules[NB_RULES] = {
#define NB_RULE_ROW(name, id, slug, reach, dialects, summary) {id, slug, NB_REACH_##reach, dialects, summary},
    NB_RULE_LIST(NB_RULE_ROW)
#undef NB_RULE_ROW
};

const struct nb_rule_info *nb_rule_info(unsigned rule)
{
    return &rules[rule];
}

unsigned nb_rule_of(const char *id)
{
    unsigned rule = 0;

    while (rule < NB_RULES && strcmp(rules[rule].id, id) != 0) {
        rule++;
    }
    return rule;
}

static const struct {
    enum nb_rule same;
    enum nb_rule as;
} same[] = {
#define NB_SAME_ROW(rule, other) {NB_RULE_##rule, NB_RULE_##other},
    NB_SAME_LIST(NB_SAME_ROW)
#undef NB_SAME_ROW
};

static bool holds_in(unsigned rule, enum nb_dialect dialect)
{
    return (rules[rule].dialects & 1U << dialect) != 0;
}

bool nb_rule_holds(const struct nb_stream *stream, unsigned rule)
{
    return holds_in(rule, stream->dialect);
}

enum nb_rule nb_rule_same(enum nb_rule rule, enum nb_dialect dialect)
{
    for (size_t i = 0; i < array_length(same); i++) {
        if (same[i].as == rule && holds_in(same[i].same, dialect)) {
            return same[i].same;
        }
    }
    return NB_RULES;
}

struct verdicts {
    struct nb_standing *blamed; /* [NB_RULES]; made with the first finding */
    struct {
        uint32_t count;
        uint32_t first; /* frame */
    } kept[NB_RULES];
};

static size_t place;

void nb_register_verdicts(void)
{
    place = nb_stream_reserve(sizeof(struct verdicts));
}

static struct verdicts *verdicts_of(const struct nb_stream *stream)
{
    return (struct verdicts *)nb_stream_reserved(stream, place);
}

void nb_standing_keep(const struct nb_stream *stream, enum nb_rule rule, uint32_t frame)
{
    struct verdicts *verdicts = verdicts_of(stream);

    if (verdicts->kept[rule].count++ == 0) {
        verdicts->kept[rule].first = frame;
    }
}

struct nb_standing *nb_standing_findings(const struct nb_stream *stream, enum nb_rule rule)
{
    struct verdicts *verdicts = verdicts_of(stream);

    if (verdicts->blamed == NULL) {
        verdicts->blamed = (struct nb_standing *)nb_file_new0(NB_RULES * sizeof(struct nb_standing));
    }
    return &verdicts->blamed[rule];
}

static struct nb_standing own_standing(const struct nb_stream *stream, enum nb_rule rule)
{
    const struct verdicts *verdicts = verdicts_of(stream);
    struct nb_standing standing = {0};

    if (verdicts->blamed != NULL) {
        standing = verdicts->blamed[rule];
    }
    standing.observations = verdicts->kept[rule].count;
    standing.first_kept = verdicts->kept[rule].first;
    return standing;
}

/* Of the rules with the same content as this one; nothing when there are none. */
static struct nb_standing held_together(const struct nb_stream *stream, enum nb_rule rule)
{
    struct nb_standing sum = {0};

    for (size_t i = 0; i < array_length(same); i++) {
        if (same[i].same != rule) {
            continue;
        }
        const struct nb_standing one = own_standing(stream, same[i].as);
        if (nb_conclude(&one) > NB_WAS_HELD) {
            return (struct nb_standing){0};
        }
        if (one.observations > 0 && (sum.observations == 0 || one.first_kept < sum.first_kept)) {
            sum.first_kept = one.first_kept;
        }
        sum.observations += one.observations;
    }
    return sum;
}

struct nb_standing nb_standing_of(const struct nb_stream *stream, unsigned rule)
{
    const struct nb_standing standing = own_standing(stream, (enum nb_rule)rule);

    if (!nb_rule_holds(stream, rule)) {
        return (struct nb_standing){0}; /* the dialect may have become known late */
    }
    return nb_conclude(&standing) != NB_NOT_OBSERVED ? standing : held_together(stream, (enum nb_rule)rule);
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
