/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser of the flakeway's language. */
#ifndef FLAKEWAY_PARSE_H
#define FLAKEWAY_PARSE_H

#include "statement.h"

/* Reads one line. True, or false with *error filled. */
bool fw_parse(const char *text, fw_statement *statement, flakeway_error *error);

#endif
