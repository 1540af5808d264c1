/* SPDX-License-Identifier: BSD-2-Clause */
#include "io/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int drop_borrowed_identity(void)
{
    if (getgid() != getegid() && setresgid(getgid(), getgid(), getgid()) != 0)
        return -1;
    if (getuid() != geteuid() && setresuid(getuid(), getuid(), getuid()) != 0)
        return -1;
    return 0;
}

static int drop_net_raw(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    const uint32_t keep = ~(1u << CAP_NET_RAW); /* CAP_NET_RAW lies in the first word */

    if (syscall(SYS_capget, &header, sets) != 0)
        return -1;
    sets[0].effective &= keep;
    sets[0].permitted &= keep;
    sets[0].inheritable &= keep;
    return (int)syscall(SYS_capset, &header, sets);
}

int netblt_privileges_drop(netblt_failure *failure)
{
    if (drop_borrowed_identity() != 0 || drop_net_raw() != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot give up privileges: %s", strerror(errno));
    return 0;
}
