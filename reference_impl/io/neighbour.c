/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the hardware address of the next hop. */
#include "io/neighbour.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/ethernet.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* Answers are one message with a handful of attributes. */
#define ANSWER_BYTES 4096
#define USABLE_STATES (NUD_PERMANENT | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE)

struct request {
    struct nlmsghdr header;
    union {
        struct rtmsg route;
        struct ndmsg neighbour;
    };
    _Alignas(NLMSG_ALIGNTO) uint8_t attribute[RTA_SPACE(NETBLT_IPV6_BYTES)];
};
_Static_assert(sizeof(struct rtmsg) == sizeof(struct ndmsg), "the attribute follows either");

union answer {
    struct nlmsghdr header;
    uint8_t bytes[ANSWER_BYTES];
};

static size_t host_bytes(const netblt_address *address)
{
    return netblt_address_family(address) == NETBLT_FAMILY_IPV6 ? NETBLT_IPV6_BYTES : NETBLT_IPV4_BYTES;
}

static void finish_request(struct request *request, uint16_t type, uint16_t attribute, const netblt_address *value)
{
    struct rtattr *item = (void *)request->attribute;
    item->rta_type = attribute;
    item->rta_len = (uint16_t)RTA_LENGTH(host_bytes(value));
    memcpy(RTA_DATA(item), value->bytes, host_bytes(value));
    request->header = (struct nlmsghdr){.nlmsg_len = (uint32_t)(offsetof(struct request, attribute) + item->rta_len),
                                        .nlmsg_type = type,
                                        .nlmsg_flags = NLM_F_REQUEST};
}

/* 0 or errno. */
static int ask(int fd, const struct request *request, uint16_t wanted, union answer *answer)
{
    ssize_t length;
    if (send(fd, request, request->header.nlmsg_len, 0) < 0)
        return errno;
    do
        length = recv(fd, answer, sizeof *answer, 0);
    while (length < 0 && errno == EINTR);
    if (length < 0)
        return errno;
    if (!NLMSG_OK(&answer->header, (size_t)length))
        return EPROTO;
    if (answer->header.nlmsg_type == NLMSG_ERROR)
        return -((const struct nlmsgerr *)NLMSG_DATA(&answer->header))->error;
    return answer->header.nlmsg_type == wanted ? 0 : EPROTO;
}

/* The attribute's value if it has exactly `length` bytes, else NULL. Both bodies have the same size. */
static const void *find_attribute(union answer *answer, uint16_t type, size_t length)
{
    struct rtattr *item = (void *)((uint8_t *)NLMSG_DATA(&answer->header) + NLMSG_ALIGN(sizeof(struct rtmsg)));
    size_t left = NLMSG_PAYLOAD(&answer->header, sizeof(struct rtmsg));
    for (; RTA_OK(item, left); item = RTA_NEXT(item, left))
        if (item->rta_type == type && RTA_PAYLOAD(item) == length)
            return RTA_DATA(item);
    return NULL;
}

/* Interface and address of the next hop. 0 or errno. */
static int find_next_hop(int fd, const netblt_address *foreign, netblt_address *hop, int *interface)
{
    uint8_t family = (uint8_t)netblt_family_to_socket(netblt_address_family(foreign));
    struct request request = {.route = {.rtm_family = family, .rtm_dst_len = (uint8_t)(host_bytes(foreign) * 8)}};
    union answer answer = {0};
    const void *value;
    int error;
    finish_request(&request, RTM_GETROUTE, RTA_DST, foreign);
    error = ask(fd, &request, RTM_NEWROUTE, &answer);
    if (error != 0)
        return error;
    value = find_attribute(&answer, RTA_OIF, sizeof *interface);
    if (value == NULL)
        return ENETUNREACH;
    memcpy(interface, value, sizeof *interface);
    *hop = *foreign;
    value = find_attribute(&answer, RTA_GATEWAY, host_bytes(foreign));
    if (value != NULL)
        memcpy(hop->bytes, value, host_bytes(foreign));
    return 0;
}

/* 0 or errno. */
static int find_link_address(int fd, const netblt_address *hop, int interface, struct sockaddr_ll *name)
{
    int family = netblt_family_to_socket(netblt_address_family(hop));
    struct request request = {.neighbour = {.ndm_family = (uint8_t)family, .ndm_ifindex = interface}};
    union answer answer = {0};
    const struct ndmsg *found = NLMSG_DATA(&answer.header);
    const void *value;
    int error;
    finish_request(&request, RTM_GETNEIGH, NDA_DST, hop);
    error = ask(fd, &request, RTM_NEWNEIGH, &answer);
    if (error != 0)
        return error;
    value = find_attribute(&answer, NDA_LLADDR, ETHER_ADDR_LEN);
    if (value == NULL || (found->ndm_state & USABLE_STATES) == 0)
        return EHOSTUNREACH;
    *name = (struct sockaddr_ll){.sll_family = AF_PACKET,
                                 .sll_protocol = htons(family == AF_INET6 ? ETHERTYPE_IPV6 : ETHERTYPE_IP),
                                 .sll_ifindex = interface,
                                 .sll_halen = ETHER_ADDR_LEN};
    memcpy(name->sll_addr, value, ETHER_ADDR_LEN);
    return 0;
}

int netblt_neighbour_find(const netblt_address *foreign, netblt_neighbour *neighbour, netblt_failure *failure)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    char text[NETBLT_ADDRESS_TEXT_BYTES];
    netblt_address hop;
    int interface = 0;
    int error = fd < 0 ? errno : find_next_hop(fd, foreign, &hop, &interface);
    if (error == 0)
        error = find_link_address(fd, &hop, interface, &neighbour->name);
    if (fd >= 0)
        close(fd);
    if (error == 0)
        return 0;
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "no Ethernet neighbour on the way to %s: %s",
                       netblt_address_text(foreign, text), strerror(error));
}
