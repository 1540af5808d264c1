/* SPDX-License-Identifier: BSD-2-Clause */
#include "io/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What root may still need: files of others, as root expects, and UDP ports below 1024. All lie in the first word. */
#define KEPT                                                                                                           \
    (1u << CAP_CHOWN | 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH | 1u << CAP_FOWNER | 1u << CAP_FSETID |      \
     1u << CAP_NET_BIND_SERVICE)

static int drop_borrowed_identity(void)
{
    if (getgid() != getegid() && setresgid(getgid(), getgid(), getgid()) != 0)
        return -1;
    if (getuid() != geteuid() && setresuid(getuid(), getuid(), getuid()) != 0)
        return -1;
    return 0;
}

static bool is_kept(unsigned capability)
{
    return capability < 32 && (KEPT >> capability & 1) != 0;
}

/* The bounding set is what a program that we start could gain. Shrinking it takes CAP_SETPCAP, which only root has; for
 * others, no_new_privs does. */
static void shrink_bounding_set(void)
{
    for (unsigned capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        if (!is_kept(capability))
            (void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

static int drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

    if (syscall(SYS_capget, &header, sets) != 0)
        return -1;
    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        sets[i].permitted &= i == 0 ? KEPT : 0;
        sets[i].effective &= sets[i].permitted;
        sets[i].inheritable = 0;
    }
    return (int)syscall(SYS_capset, &header, sets);
}

int netblt_privileges_drop(netblt_failure *failure)
{
    shrink_bounding_set();
    if (drop_borrowed_identity() != 0 || drop_capabilities() != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot give up privileges: %s", strerror(errno));
    return 0;
}
