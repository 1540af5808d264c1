/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of unit tests. A test is a function whose name is a sentence; a check that fails prints itself and ends the
 * program. */
#ifndef NETBLT_TESTS_CHECK_H
#define NETBLT_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s: not true: %s\n", __FILE__, __LINE__, __func__, #condition);                    \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#define CHECK_EQUAL(actual, wanted)                                                                                    \
    do {                                                                                                               \
        long long check_actual = (long long)(actual);                                                                  \
        long long check_wanted = (long long)(wanted);                                                                  \
        if (check_actual != check_wanted) {                                                                            \
            fprintf(stderr, "%s:%d: %s: %s is %lld, wanted %lld (%s)\n", __FILE__, __LINE__, __func__, #actual,        \
                    check_actual, check_wanted, #wanted);                                                              \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#define RUN(test)                                                                                                      \
    do {                                                                                                               \
        test();                                                                                                        \
        printf("ok %s\n", #test);                                                                                      \
    } while (0)

#endif
