/* SPDX-License-Identifier: BSD-2-Clause */
/* What earlier transfers have shown of a path. */
#ifndef NETBLT_CLI_KNOWN_PATH_H
#define NETBLT_CLI_KNOWN_PATH_H

#include <stdbool.h>

typedef struct known_path {
    double bits_per_second; /* that it carried, on the wire, headers included */
    double round_trip_s;    /* the shortest */
    bool is_least;          /* the transfers were so short that the path may carry more */
} known_path;

#endif
