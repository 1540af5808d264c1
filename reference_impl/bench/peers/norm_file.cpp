/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends a file or the files of a directory with NORM (RFC 5740), or receives such: what `tools/bench --movers` runs,
 * because Debian has the library but no program. Usage:
 *     norm_file send HOST BITS_PER_SECOND PATH     norm_file recv DIR
 * The name of a file travels as NORM_INFO. The sender ends when the receiver has acknowledged the last file. */
#include <normApi.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace fs = std::filesystem;

static const UINT16 PORT = 6003;
static const NormNodeId SENDER = 1, RECEIVER = 2;
static const UINT32 BUFFER_BYTES = 64U << 20; /* more than any path of the benchmark holds */
static const UINT16 SEGMENT_BYTES = 1400, BLOCK_SEGMENTS = 64, PARITY_SEGMENTS = 16;
static const UINT32 FILES_MAX = 60000; /* all files stay in the sender's cache until they are acknowledged */
static const unsigned SOCKET_BYTES = 8U << 20;
static const double ROUND_TRIP_GUESS_S = 0.1;

static int fail(const std::string &what)
{
    fprintf(stderr, "norm_file: %s\n", what.c_str());
    return 2;
}

/* The files with their names relative to what is sent, so that a directory keeps its own name. */
static std::vector<std::pair<std::string, std::string>> files_of(const fs::path &source)
{
    std::vector<std::pair<std::string, std::string>> files;
    if (!fs::is_directory(source))
        return {{source.string(), source.filename().string()}};
    for (const auto &entry : fs::recursive_directory_iterator(source))
        if (entry.is_regular_file() && !entry.is_symlink())
            files.emplace_back(entry.path().string(), entry.path().lexically_relative(source.parent_path()).string());
    return files;
}

static int send_files(NormInstanceHandle instance, const char *host, double bits_per_second, const char *source)
{
    NormSessionHandle session = NormCreateSession(instance, host, PORT, SENDER);
    if (session == NORM_SESSION_INVALID)
        return fail("cannot make a session");
    NormSetTxRate(session, bits_per_second);
    NormSetGrttEstimate(session, ROUND_TRIP_GUESS_S);
    NormSetTxCacheBounds(session, (NormSize)1 << 40, FILES_MAX, FILES_MAX);
    if (!NormStartSender(session, (NormSessionId)getpid(), BUFFER_BYTES, SEGMENT_BYTES, BLOCK_SEGMENTS, PARITY_SEGMENTS))
        return fail("cannot start to send");
    NormSetTxSocketBuffer(session, SOCKET_BYTES);
    NormAddAckingNode(session, RECEIVER);
    NormObjectHandle last = NORM_OBJECT_INVALID;
    for (const auto &[path, name] : files_of(source)) {
        NormObjectHandle file = NormFileEnqueue(session, path.c_str(), name.data(), (unsigned)name.size());
        if (file == NORM_OBJECT_INVALID)
            return fail(path + ": cannot be sent");
        last = file;
    }
    NormSetWatermark(session, last);
    NormEvent event;
    while (NormGetNextEvent(instance, &event)) {
        if (event.type != NORM_TX_WATERMARK_COMPLETED)
            continue;
        if (NormGetAckingStatus(session, RECEIVER) == NORM_ACK_SUCCESS)
            return 0;
        NormResetWatermark(session); /* asks again */
    }
    return fail("the library ended");
}

static int receive_files(NormInstanceHandle instance, const char *folder)
{
    NormSessionHandle session = NormCreateSession(instance, "127.0.0.1", PORT, RECEIVER);
    if (session == NORM_SESSION_INVALID || !NormSetCacheDirectory(instance, (std::string(folder) + "/").c_str()))
        return fail("cannot make a session");
    NormSetDefaultUnicastNack(session, true);
    NormSetRxCacheLimit(session, (unsigned short)FILES_MAX);
    if (!NormStartReceiver(session, BUFFER_BYTES))
        return fail("cannot start to receive");
    NormSetRxSocketBuffer(session, SOCKET_BYTES);
    NormEvent event;
    while (NormGetNextEvent(instance, &event)) {
        if (event.type != NORM_RX_OBJECT_COMPLETED)
            continue;
        std::string name(NormObjectGetInfoLength(event.object), '\0');
        NormObjectGetInfo(event.object, name.data(), (UINT16)name.size());
        const fs::path target = fs::path(folder) / name;
        fs::create_directories(target.parent_path());
        if (!NormFileRename(event.object, target.c_str()))
            return fail(target.string() + ": cannot be named");
    }
    return fail("the library ended");
}

int main(int argc, char **argv)
{
    NormInstanceHandle instance = NormCreateInstance();
    if (instance == NORM_INSTANCE_INVALID)
        return fail("cannot start the library");
    int status = 2;
    if (argc == 5 && strcmp(argv[1], "send") == 0)
        status = send_files(instance, argv[2], atof(argv[3]), argv[4]);
    else if (argc == 3 && strcmp(argv[1], "recv") == 0)
        status = receive_files(instance, argv[2]);
    else
        fail("usage: norm_file send HOST BITS_PER_SECOND PATH | norm_file recv DIR");
    fflush(nullptr);
    _exit(status); /* its threads would take seconds to end */
}
