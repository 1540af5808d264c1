/* SPDX-License-Identifier: BSD-2-Clause */
/* Text for error codes and results, and the version of the library. */
#include <netblt/netblt.h>

#define TEXT_OF(number) #number
#define DOTTED(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *netblt_version(void)
{
    return DOTTED(NETBLT_VERSION_MAJOR, NETBLT_VERSION_MINOR, NETBLT_VERSION_PATCH);
}

uint32_t netblt_version_number(void)
{
    return NETBLT_VERSION_NUMBER;
}

const char *netblt_strerror(int error)
{
    switch (error) {
    case NETBLT_OK:
        return "success";
    case NETBLT_ERR_NO_MEMORY:
        return "out of memory";
    case NETBLT_ERR_INVALID_ARGUMENT:
        return "a parameter is zero or outside its range";
    case NETBLT_ERR_PORT_IN_USE:
        return "the port is in use";
    case NETBLT_ERR_WRONG_STATE:
        return "the connection is closing or closed";
    case NETBLT_ERR_TOO_LONG:
        return "a string is longer than its field";
    case NETBLT_ERR_MALFORMED:
        return "a packet is malformed";
    case NETBLT_ERR_CHECKSUM:
        return "a packet's checksum is wrong";
    case NETBLT_ERR_NO_SPACE:
        return "the output buffer is smaller than one packet";
    default:
        return "unknown error";
    }
}

const char *netblt_result_name(enum netblt_result result)
{
    switch (result) {
    case NETBLT_DONE:
        return "done";
    case NETBLT_REFUSED:
        return "refused";
    case NETBLT_UNREACHABLE:
        return "unreachable";
    case NETBLT_PEER_QUIT:
        return "peer-quit";
    case NETBLT_PEER_ABORTED:
        return "peer-aborted";
    case NETBLT_LOCAL_QUIT:
        return "local-quit";
    case NETBLT_LOCAL_ABORT:
        return "local-abort";
    case NETBLT_PEER_DEAD:
        return "peer-dead";
    }
    return "unknown";
}
