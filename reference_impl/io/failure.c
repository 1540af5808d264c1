/* SPDX-License-Identifier: BSD-2-Clause */
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
    return -1;
}
