/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser of the settings of lines and paths: framing, cells, frames, mtu, gilbert, spread. */
#ifndef FLAKEWAY_PARSE_PATH_H
#define FLAKEWAY_PARSE_PATH_H

#include "statement.h"
#include "words.h"

/* The settings of lines and paths: framing, cells, frames, mtu, gilbert, spread. */

/* What must follow the setting's name; `word` is the first of it. */
bool fw_parse_path_argument(fw_words *words, fw_word word, fw_setting *setting);
/* What may follow. false = the word is none of these settings' options; *good = it was understood. */
bool fw_parse_path_option(fw_words *words, fw_word word, fw_setting *setting, bool *good);

#endif
