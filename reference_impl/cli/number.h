/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_NUMBER_H
#define NETBLT_CLI_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "io/failure.h"

/* A number that the user may leave out. */
typedef struct optional_number {
    bool given;
    uint64_t value;
} optional_number;

/* Reads a decimal number between `min` and `max`; with `is_size` it may end in k, M or G (powers of 1024).
 * 0, or -1 with *failure, which names the option and its range. */
int number_parse(const char *option, const char *text, uint64_t min, uint64_t max, bool is_size,
                 optional_number *number, netblt_failure *failure);

#endif
