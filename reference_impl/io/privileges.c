/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes the user and gives up capabilities, permanently: see privileges.h. */
#include "io/privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNCHANGED ((uid_t)-1)
/* Open any file. They lie in the first word. */
#define FILE_CAPABILITIES (1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH)

struct capabilities {
    struct __user_cap_header_struct header;
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
};

/* 0, or -1 with errno. */
static int get_capabilities(struct capabilities *own)
{
    own->header = (struct __user_cap_header_struct){.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    return (int)syscall(SYS_capget, &own->header, own->sets);
}

static bool is_empty(const struct capabilities *own)
{
    uint32_t any = 0;
    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        any |= own->sets[i].permitted | own->sets[i].effective | own->sets[i].inheritable;
    return any == 0;
}

/* Keeps those of `kept`; of these, `effective` count now. Who has none makes no call, which a service manager may have
 * forbidden. 0, or -1 with errno. */
static int limit_capabilities(uint32_t kept, bool effective)
{
    struct capabilities own;
    if (get_capabilities(&own) != 0)
        return -1;
    if (is_empty(&own))
        return 0;
    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        own.sets[i].permitted &= i == 0 ? kept : 0;
        own.sets[i].effective = effective ? own.sets[i].permitted : 0;
        own.sets[i].inheritable = 0; /* the ambient set, its subset, becomes empty with it */
    }
    return (int)syscall(SYS_capset, &own.header, own.sets);
}

static bool has_capability(void)
{
    struct capabilities own;
    return get_capabilities(&own) != 0 || !is_empty(&own);
}

/* The bounding set is what a program that we start could gain. Shrinking it takes CAP_SETPCAP, which only root has; for
 * others, no_new_privs does. */
static void empty_bounding_set(void)
{
    for (unsigned capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        (void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

static int drop_borrowed_identity(void)
{
    if (getgid() != getegid() && setresgid(getgid(), getgid(), getgid()) != 0)
        return -1;
    if (getuid() != geteuid() && setresuid(getuid(), getuid(), getuid()) != 0)
        return -1;
    return 0;
}

/* ---- another user --------------------------------------------------------------------------------------------- */

/* The groups come first: without root's user ID nothing can be changed any more. */
static int become(const netblt_user *user, netblt_failure *failure)
{
    if (getuid() == user->uid && getgid() == user->gid && getuid() != 0)
        return 0;
    if (getuid() != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--user %s: only root can become another user", user->text);
    if ((user->name != NULL ? initgroups(user->name, user->gid) : setgroups(0, NULL)) != 0 ||
        setresgid(user->gid, user->gid, user->gid) != 0 || setresuid(user->uid, user->uid, user->uid) != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--user %s: cannot become this user: %s", user->text,
                           strerror(errno));
    return 0;
}

/* What was given up must not come back. Every call that could bring it back is tried once. */
static int check_identity(const netblt_user *user, netblt_failure *failure)
{
    uid_t uids[3];
    gid_t gids[3];
    if (getresuid(&uids[0], &uids[1], &uids[2]) != 0 || getresgid(&gids[0], &gids[1], &gids[2]) != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot read this process's user: %s", strerror(errno));
    for (unsigned i = 0; i < 3; i++)
        if (uids[i] != user->uid || gids[i] != user->gid)
            return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--user %s: this process is still another user",
                               user->text);
    if ((user->uid != 0 && setresuid(UNCHANGED, 0, UNCHANGED) == 0) ||
        (user->gid != 0 && setresgid(UNCHANGED, 0, UNCHANGED) == 0) || setgroups(0, NULL) == 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--user %s: root's rights can be regained", user->text);
    return 0;
}

/* ---- the steps ------------------------------------------------------------------------------------------------ */

static int explain(netblt_failure *failure)
{
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot give up privileges: %s", strerror(errno));
}

int netblt_privileges_reduce(const netblt_user *user, netblt_failure *failure)
{
    uint32_t kept = user == NULL && getuid() == 0 ? FILE_CAPABILITIES : 0;
    empty_bounding_set();
    if (drop_borrowed_identity() != 0)
        return explain(failure);
    if (user != NULL && become(user, failure) != 0)
        return -1;
    if (limit_capabilities(kept, true) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return explain(failure);
    return user != NULL ? check_identity(user, failure) : 0;
}

void netblt_privileges_set_effective(bool effective)
{
    (void)limit_capabilities(FILE_CAPABILITIES, effective); /* without any, nothing changes */
}

int netblt_privileges_drop(netblt_failure *failure)
{
    if (limit_capabilities(0, false) != 0)
        return explain(failure);
    if (has_capability())
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot give up privileges: some capabilities are left");
    return 0;
}
