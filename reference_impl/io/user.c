/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks up the user and group of --user: see privileges.h. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/privileges.h"

/* (uid_t)-1 means "do not change" to the system calls. */
#define ID_MAX (UINT32_MAX - 1)

/* A whole number that can be an ID. */
static bool read_id(const char *text, uint32_t *id)
{
    char *rest;
    unsigned long value;
    errno = 0;
    value = strtoul(text, &rest, 10);
    if (text[0] < '0' || text[0] > '9' || *rest != '\0' || errno != 0 || value > ID_MAX)
        return false;
    *id = (uint32_t)value;
    return true;
}

static int find_group(const char *text, const char *name, gid_t *gid, netblt_failure *failure)
{
    const struct group *found = getgrnam(name);
    if (found != NULL)
        *gid = found->gr_gid;
    else if (!read_id(name, gid))
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--user %s: no group %s on this host", text, name);
    return 0;
}

/* A name that is a number is a name first, as chown(1) takes it. */
static int find_account(const char *text, const char *name, netblt_user *user, bool *known, netblt_failure *failure)
{
    const struct passwd *found = getpwnam(name);
    if (found == NULL && read_id(name, &user->uid))
        found = getpwuid(user->uid);
    else if (found == NULL)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--user %s: no user %s on this host", text, name);
    *known = found != NULL;
    if (!*known)
        return 0;
    user->uid = found->pw_uid;
    user->gid = found->pw_gid;
    user->name = strdup(found->pw_name);
    return user->name != NULL ? 0 : netblt_fail(failure, NETBLT_FAILURE_LOCAL, "not enough memory");
}

/* `name` is a copy of `text` that may be cut. */
static int find_both(const char *text, char *name, netblt_user *user, netblt_failure *failure)
{
    char *group = strchr(name, ':');
    bool known = false;
    if (group != NULL)
        *group++ = '\0';
    if (find_account(text, name, user, &known, failure) != 0)
        return -1;
    if (group == NULL && !known)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "--user %s: no account has this number, so a group is needed: --user %s:GROUP", text, name);
    if (group == NULL)
        return 0;
    free(user->name); /* a group that is named has no user name */
    user->name = NULL;
    return find_group(text, group, &user->gid, failure);
}

int netblt_user_find(const char *text, netblt_user *user, netblt_failure *failure)
{
    char *name = strdup(text);
    int result;
    *user = (netblt_user){.text = text};
    if (name == NULL)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "not enough memory");
    result = find_both(text, name, user, failure);
    free(name);
    if (result != 0)
        netblt_user_free(user);
    return result;
}

void netblt_user_free(netblt_user *user)
{
    free(user->name);
    user->name = NULL;
}
