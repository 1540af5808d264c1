/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists abstract Unix sockets with their owners by sock_diag(7): see claim_names.h. */
#include "io/claim_names.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define NOT_KNOWN ((uid_t)-1)
#define REPLY_BYTES 16384
#define RAW_PROTOCOL 30

enum visit_result { GO_ON, FOUND, ENDED, FAILED };

static int ask_for_names(int netlink)
{
    const struct {
        struct nlmsghdr header;
        struct unix_diag_req wanted;
    } request = {
        .header = {.nlmsg_len = sizeof request,
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .wanted = {.sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX, .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_UID},
    };
    return send(netlink, &request, sizeof request, 0) == (ssize_t)sizeof request ? 0 : -1;
}

/* One socket of the reply. */
static bool visit_socket(const struct nlmsghdr *message, netblt_name_visitor *visit, void *context)
{
    const struct unix_diag_msg *one = NLMSG_DATA(message);
    long left = (long)message->nlmsg_len - (long)NLMSG_LENGTH(sizeof *one);
    char name[sizeof((struct sockaddr_un *)NULL)->sun_path + 1] = "";
    uid_t owner = NOT_KNOWN;
    for (const struct rtattr *attribute = (const void *)(one + 1); RTA_OK(attribute, left);
         attribute = RTA_NEXT(attribute, left)) {
        const char *value = RTA_DATA(attribute);
        size_t length = RTA_PAYLOAD(attribute);
        if (attribute->rta_type == UNIX_DIAG_UID && length == sizeof(uint32_t))
            memcpy(&owner, value, sizeof(uint32_t));
        else if (attribute->rta_type == UNIX_DIAG_NAME && length > 1 && length < sizeof name && value[0] == '\0')
            memcpy(name, value + 1, length - 1);
    }
    return one->udiag_type == SOCK_DGRAM && name[0] != '\0' && visit(context, name, owner);
}

static enum visit_result visit_reply(char *reply, size_t bytes, netblt_name_visitor *visit, void *context)
{
    size_t left = bytes;
    for (struct nlmsghdr *message = (void *)reply; NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
        if (message->nlmsg_type == NLMSG_DONE)
            return ENDED;
        if (message->nlmsg_type == NLMSG_ERROR)
            return FAILED;
        if (message->nlmsg_type == SOCK_DIAG_BY_FAMILY && visit_socket(message, visit, context))
            return FOUND;
    }
    return GO_ON;
}

int netblt_visit_names(netblt_name_visitor *visit, void *context)
{
    static _Alignas(struct nlmsghdr) _Thread_local char reply[REPLY_BYTES];
    enum visit_result result = GO_ON;
    int netlink = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (netlink < 0)
        return -1;
    if (ask_for_names(netlink) != 0)
        result = FAILED;
    while (result == GO_ON) {
        /* The kernel fills the first part of a dump while it takes the request, each other part while it is read. */
        ssize_t bytes = recv(netlink, reply, sizeof reply, MSG_DONTWAIT);
        result = bytes > 0 ? visit_reply(reply, (size_t)bytes, visit, context) : FAILED;
    }
    close(netlink);
    return result == FOUND ? 1 : result == ENDED ? 0 : -1;
}

/* Whether a line of a table of raw sockets shows one of protocol 30 that this user owns: its fields, separated by
 * blanks, are number, local address:protocol in hexadecimal, ... and as the eighth the user. */
static bool is_raw_socket_of(char *line, uid_t owner)
{
    unsigned long protocol = 0, user = 0;
    unsigned field = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        const char *colon = strrchr(word, ':');
        field++;
        if (field == 2 && colon != NULL)
            protocol = strtoul(colon + 1, NULL, 16);
        else if (field == 8)
            user = strtoul(word, NULL, 10);
    }
    return field > 8 && protocol == RAW_PROTOCOL && user == owner;
}

/* The kernel's tables of raw sockets. They stay open, since a confined process could not open them. */
static const char *const table_names[] = {"/proc/thread-self/net/raw", "/proc/thread-self/net/raw6"};
#define TABLES (sizeof table_names / sizeof *table_names)
static FILE *tables[TABLES];

void netblt_names_prepare(void)
{
    for (size_t i = 0; i < TABLES; i++)
        if (tables[i] == NULL)
            tables[i] = fopen(table_names[i], "re");
}

/* Whether this user has a socket in one of the tables. */
static bool has_raw_socket(FILE *table, uid_t owner)
{
    char line[512];
    bool found = false;
    if (table == NULL || fseek(table, 0, SEEK_SET) != 0) /* read once more from the kernel */
        return false;
    while (!found && fgets(line, sizeof line, table) != NULL)
        found = is_raw_socket_of(line, owner);
    return found;
}

bool netblt_may_claim(uid_t owner)
{
    netblt_names_prepare();
    return owner == NOT_KNOWN || owner == 0 || owner == geteuid() || has_raw_socket(tables[0], owner) ||
           has_raw_socket(tables[1], owner);
}
