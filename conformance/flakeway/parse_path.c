/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser of the settings of lines and paths: framing, cells, frames, mtu, gilbert, spread. */
#include "parse_path.h"

#include "random.h"

#define MTU_MIN_BYTES 68 /* RFC 791 3.2: every link carries so much */

static bool parse_cells(fw_words *words, fw_word word, fw_setting *setting)
{
    if (!fw_read_pair(words, word, &setting->bytes, &setting->cell_bytes))
        return false;
    return setting->bytes <= setting->cell_bytes || fw_fail(words, word, "is a cell that carries more than it is long");
}

static bool parse_frames(fw_words *words, fw_word word, fw_setting *setting)
{
    fw_word bits;
    if (!fw_read_time(words, word, &setting->time_us))
        return false;
    fw_next_word(words, &bits);
    return fw_read_bits(words, bits, &setting->bits_per_s) &&
           (setting->time_us > 0 || fw_fail(words, word, "is no time from frame to frame"));
}

static bool parse_gilbert(fw_words *words, fw_word word, fw_setting *setting)
{
    fw_word leave;
    if (!fw_read_percent(words, word, &setting->ppb))
        return false;
    setting->bad_loss_ppb = FW_PPB_ALWAYS;
    fw_next_word(words, &leave);
    return fw_read_percent(words, leave, &setting->to_good_ppb);
}

bool fw_parse_path_argument(fw_words *words, fw_word word, fw_setting *setting)
{
    switch (setting->kind) {
    case FW_SET_FRAMING:
        return fw_read_bytes(words, word, &setting->bytes);
    case FW_SET_CELLS:
        return parse_cells(words, word, setting);
    case FW_SET_FRAMES:
        return parse_frames(words, word, setting);
    case FW_SET_GILBERT:
        return parse_gilbert(words, word, setting);
    default:
        return fw_read_bytes(words, word, &setting->bytes) &&
               (setting->bytes >= MTU_MIN_BYTES ||
                fw_fail(words, word, "is less than the 68B that every link carries"));
    }
}

static bool parse_late(fw_words *words, fw_setting *setting)
{
    fw_word word;
    fw_next_word(words, &word);
    if (!fw_read_time(words, word, &setting->time_us))
        return false;
    fw_next_word(words, &word);
    return fw_read_percent(words, word, &setting->ppb);
}

static bool parse_spread_kind(fw_word word, fw_setting *setting)
{
    static const char *const names[] = {"uniform", "exponential", "normal"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (fw_word_is(word, names[i])) {
            setting->spread = (enum fw_spread_kind)i;
            return true;
        }
    }
    return false;
}

bool fw_parse_path_option(fw_words *words, fw_word word, fw_setting *setting, bool *good)
{
    fw_word value;
    *good = true;
    if (setting->kind == FW_SET_MTU && fw_word_is(word, "late")) {
        *good = parse_late(words, setting);
    } else if (setting->kind == FW_SET_CELLS && fw_word_is(word, "from")) {
        fw_next_word(words, &value);
        *good = fw_read_rate(words, value, &setting->bits_per_s);
    } else if (setting->kind == FW_SET_GILBERT && fw_word_value(word, "bad", &value)) {
        *good = fw_read_percent(words, value, &setting->bad_loss_ppb);
    } else if (setting->kind == FW_SET_GILBERT && fw_word_value(word, "good", &value)) {
        *good = fw_read_percent(words, value, &setting->good_loss_ppb);
    } else if (setting->kind == FW_SET_SPREAD) {
        return parse_spread_kind(word, setting);
    } else {
        return false;
    }
    return true;
}
