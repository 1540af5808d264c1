/* SPDX-License-Identifier: BSD-2-Clause */
/* Failures as one line of text for the user. */
#include "io/failure.h"

#include <stdarg.h>
#include <stdio.h>

int netblt_fail(netblt_failure *failure, enum netblt_failure_kind kind, const char *format, ...)
{
    va_list arguments;
    failure->kind = kind;
    va_start(arguments, format);
    vsnprintf(failure->text, sizeof failure->text, format, arguments);
    va_end(arguments);
    for (char *at = failure->text; *at != '\0'; at++) /* a file name may hold a line feed, or worse for a terminal */
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?';
    return -1;
}
