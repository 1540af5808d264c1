/* SPDX-License-Identifier: BSD-2-Clause */
/* The command `netblt`: its start, and which command runs. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/listen/serve.h"
#include "cli/options/command_line.h"
#include "cli/perf/perf.h"
#include "cli/process/signals.h"
#include "cli/report/report.h"
#include "cli/session/session.h"
#include "cli/transfer/transfer.h"

/* Who starts us with stdin, stdout or stderr closed must not get our messages into the socket or file that would be
 * given its number. What takes the place cannot be used in that direction, so using it is still an error. */
static void occupy_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0) /* the lowest free one, so open() answers it; without /dev/null it stays closed */
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* A signal that comes before a transfer can be stopped is answered in the same words as one that comes later. */
static void answer_early_signals(const options *given)
{
    static char object[512]; /* outlives this call; left empty when it does not fit */
    summary end = {
        .result = "interrupted", .reason = "interrupted by the user", .role = given->role, .active = !given->passive};
    FILE *to = given->json ? fmemopen(object, sizeof object, "w") : NULL;
    if (to != NULL) {
        json_print(to, summary_object(&end));
        fputc('\n', to);
        if (fclose(to) != 0)
            object[0] = '\0';
    }
    signals_catch_early("netblt: interrupted by the user\n", object);
}

static enum exit_code run(const options *given)
{
    switch (given->command) {
    case COMMAND_LISTEN:
        return command_serve(given);
    case COMMAND_PERF:
        return command_perf(given);
    default:
        return command_session(given);
    }
}

int main(int argc, char **argv)
{
    netblt_failure failure = {0};
    options given;
    enum exit_code code = EXIT_CODE_DONE;
    occupy_standard_streams();
    signals_catch_early("netblt: interrupted by the user\n", NULL);
    switch (options_parse(argc, argv, &given, &failure)) {
    case OPTIONS_RUN:
        report_begin(&given);
        answer_early_signals(&given);
        code = run(&given);
        break;
    case OPTIONS_SHOWN:
        break;
    case OPTIONS_WRONG:
        code = transfer_report_failure(&given, &failure);
        break;
    }
    if (!report_flush() && code == EXIT_CODE_DONE) { /* the summary was requested and could not be written */
        report_error("cannot write to stdout");
        code = EXIT_CODE_FAILED;
    }
    options_free(&given);
    return code;
}
