/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/summary.h"
#include "cli/transfer.h"

/* A wrong command line: what is wrong, on stderr, and for machines that asked for JSON there too. */
static enum exit_code reject(const options *given, const netblt_failure *failure)
{
    summary end = {.result = failure->kind == NETBLT_FAILURE_UNSUPPORTED ? "not-supported" : "local-error",
                   .role = given->role,
                   .active = !given->passive};

    fprintf(stderr, "netblt: %s\n", failure->text);
    snprintf(end.reason, sizeof end.reason, "%s", failure->text);
    if (given->json)
        summary_print_json(&end, stdout);
    return transfer_exit_code_of(failure);
}

/* Who starts us with stdin, stdout or stderr closed must not get our messages into the socket or file that would be
 * given its number. What takes the place cannot be used in that direction, so using it is still an error. */
static void occupy_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0) /* the lowest free one, so open() answers it; without /dev/null it stays closed */
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    netblt_failure failure = {0};
    options given;
    enum exit_code code = EXIT_CODE_DONE;

    occupy_standard_streams();
    switch (options_parse(argc, argv, &given, &failure)) {
    case OPTIONS_RUN:
        code = transfer_do(&given);
        break;
    case OPTIONS_SHOWN:
        break;
    case OPTIONS_WRONG:
        code = reject(&given, &failure);
        break;
    }
    if (fflush(stdout) != 0 && code == EXIT_CODE_DONE) { /* the summary was asked for and could not be written */
        fprintf(stderr, "netblt: cannot write to stdout\n");
        code = EXIT_CODE_FAILED;
    }
    return code;
}
