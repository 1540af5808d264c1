/* SPDX-License-Identifier: BSD-2-Clause */
/* Confines the process before it processes packets of peers: see sandbox.h. */
#include "cli/process/sandbox.h"

#include <errno.h>
#include <string.h>

#include "cli/report/report.h"
#include "io/privileges.h"

#ifdef NETBLT_NO_SANDBOX
#define SANDBOX_IS_BUILT false /* sanitizers start programs and read what their reports need */
#else
#define SANDBOX_IS_BUILT true
#endif

/* One part of the sandbox is not there. A server reports it once, when it starts; a single transfer has no log for
 * it. 0, or -1 with *failure. */
static int do_without(const options *given, const char *what, netblt_failure *failure)
{
    if (given->sandbox == SANDBOX_REQUIRE)
        return netblt_fail(failure, NETBLT_FAILURE_UNSUPPORTED, "--sandbox require: %s", what);
    if (given->command == COMMAND_LISTEN)
        report_note("sandbox incomplete: %s", what);
    return 0;
}

static int confine_files(const options *given, const sandbox_files *reached, netblt_failure *failure)
{
    int error;
    if (landlock_version() == 0)
        return do_without(given, "this kernel has no Landlock, or it is off", failure);
    if (reached->writable && reached->count > 0 && landlock_version() < LANDLOCK_RENAMES)
        return do_without(given, "this kernel's Landlock has no renames between directories (Linux 5.19)", failure);
    error = landlock_restrict_to(reached);
    if (error != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot confine this process by Landlock: %s; see --sandbox",
                           strerror(error));
    return 0;
}

static int confine_calls(const options *given, netblt_failure *failure)
{
    int error;
    if (!syscall_filter_is_built())
        return do_without(given, "netblt was built without libseccomp", failure);
    error = syscall_filter_install(given->encap == NETBLT_ENCAP_IP);
    if (error == EINVAL || error == ENOSYS || error == EOPNOTSUPP)
        return do_without(given, "this kernel has no system call filter (seccomp)", failure);
    if (error != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "cannot confine this process by a system call filter: %s; see --sandbox", strerror(error));
    return 0;
}

int confine(const options *given, const sandbox_files *reached, netblt_failure *failure)
{
    if (netblt_privileges_drop(failure) != 0)
        return -1;
    if (given->sandbox == SANDBOX_OFF)
        return 0;
    if (!SANDBOX_IS_BUILT)
        return do_without(given, "netblt was built with sanitizers", failure);
    if (confine_files(given, reached, failure) != 0)
        return -1;
    return confine_calls(given, failure);
}
