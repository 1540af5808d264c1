/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/usage.h"

void usage_show_help(FILE *to)
{
    fputs("netblt moves one file from one host to another by NETBLT (RFC 998).\n"
          "\n"
          "  netblt send FILE HOST        send FILE to HOST, where netblt recv --passive waits\n"
          "  netblt recv FILE HOST        fetch from HOST, where netblt send --passive waits, into FILE\n"
          "  netblt send FILE --passive   wait for one peer and send FILE to it\n"
          "  netblt recv FILE --passive   wait for one peer and store what it sends in FILE\n"
          "\n"
          "FILE - is stdin or stdout. Sizes may end in k, M or G (powers of 1024).\n"
          "\n"
          "Where\n"
          "  --encap ip|udp          raw IP protocol 30, needs root or CAP_NET_RAW (default); or inside UDP\n"
          "  --port PORT             the passive end's NETBLT port (default 1)\n"
          "  --udp-port PORT         the passive end's UDP port (default 9980)\n"
          "  --bind ADDR             this host's address to use (default: the route's; passive: all)\n"
          "\n"
          "How: proposed by the end that opens, limits for the passive end\n"
          "  --packet-size BYTES     data in a packet (default: what the route carries whole, 1456 on Ethernet)\n"
          "  --buffer-size BYTES     data in a buffer (default: about 64k)\n"
          "  --max-buffers N         buffers under way at once (default 16)\n"
          "  --burst-size N          packets in a burst (default 16)\n"
          "  --burst-interval MS     from the start of one burst to the next; 0 = no pacing (default 2)\n"
          "  --death-timer S         give the peer up after so long a silence (default 30)\n"
          "  --data-checksum, --no-data-checksum\n"
          "                          checksum the data too (default: yes)\n"
          "  --client-string TEXT    a word to the peer's program\n"
          "  --version-byte N        version in every packet (default 2)\n"
          "\n"
          "Output\n"
          "  --json                  a summary for machines on stdout\n"
          "  --quiet                 errors only\n"
          "  --help, --version\n"
          "\n"
          "Exit codes: 0 done, 1 transfer failed, 2 usage or local error, 3 refused or unreachable,\n"
          "127 not supported, 130 interrupted.\n",
          to);
}

void usage_show_version(FILE *to)
{
    fputs("netblt " NETBLT_VERSION_TEXT "\n", to);
}
