// SPDX-License-Identifier: BSD-2-Clause
// A transfer between two endpoints in one C++17 program, without sockets and clock:  pair_cpp [BYTES]
//
// Shows how a C++ program owns an endpoint, passes objects as contexts of connections, lends the memory of a vector,
// and has the library take its memory from an allocator of the program. Virtual time, as in pair.c.
#include <netblt/netblt.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <vector>

namespace
{

constexpr netblt_time delay_us = 50000;
constexpr std::uint16_t port = 1;

// ---- memory of the library ----

struct Memory {
    std::size_t calls = 0;

    static void *allocate(std::size_t bytes, void *context)
    {
        static_cast<Memory *>(context)->calls++;
        return std::malloc(bytes);
    }
    static void *reallocate(void *block, std::size_t bytes, void *context)
    {
        static_cast<Memory *>(context)->calls++;
        return std::realloc(block, bytes);
    }
    static void release(void *block, void *)
    {
        std::free(block);
    }
};

// ---- endpoints ----

struct FreeEndpoint {
    void operator()(netblt_endpoint *endpoint) const
    {
        netblt_endpoint_free(endpoint);
    }
};
using Endpoint = std::unique_ptr<netblt_endpoint, FreeEndpoint>;

Endpoint make_endpoint(Memory &memory)
{
    const netblt_allocator allocator = {Memory::allocate, Memory::reallocate, Memory::release, &memory};
    netblt_config config;
    netblt_config_default(&config);
    config.allocator = &allocator; // copied
    return Endpoint(netblt_endpoint_new(&config));
}

// ---- one end of the transfer: the context of its connection ----

struct End {
    std::vector<std::uint8_t> bytes;
    bool closed = false;
    netblt_result result = NETBLT_UNREACHABLE;

    static End &of(void *context)
    {
        return *static_cast<End *>(context);
    }

    static netblt_send_buffer get_send_buffer(void *context, netblt_connection *, std::uint64_t index,
                                              std::uint32_t capacity, const std::uint8_t **data, std::uint32_t *length,
                                              bool *last)
    {
        const End &end = of(context);
        const std::size_t start = index * capacity, left = end.bytes.size() - start;
        *data = end.bytes.data() + start; // lent until `release`: the vector does not change
        *length = static_cast<std::uint32_t>(std::min<std::size_t>(left, capacity));
        *last = left <= capacity;
        return NETBLT_SEND_BUFFER_READY;
    }
    static std::uint8_t *get_receive_buffer(void *, netblt_connection *, std::uint64_t, std::uint32_t capacity)
    {
        return new std::uint8_t[capacity];
    }
    static void deliver(void *context, netblt_connection *, std::uint64_t, std::uint8_t *data, std::uint32_t length,
                        bool)
    {
        const std::unique_ptr<std::uint8_t[]> buffer(data); // the program's again
        of(context).bytes.insert(of(context).bytes.end(), data, data + length);
    }
    static void discard(void *, netblt_connection *, std::uint64_t, std::uint8_t *data)
    {
        delete[] data;
    }
    static void on_finished(void *context, netblt_connection *, const netblt_outcome *outcome)
    {
        of(context).result = outcome->result;
    }
    static void on_closed(void *context, netblt_connection *)
    {
        of(context).closed = true;
    }
};

netblt_client client()
{
    netblt_client callbacks{};
    callbacks.size = sizeof callbacks;
    callbacks.get_send_buffer = End::get_send_buffer;
    callbacks.get_receive_buffer = End::get_receive_buffer;
    callbacks.deliver = End::deliver;
    callbacks.discard = End::discard;
    callbacks.finished = End::on_finished;
    callbacks.closed = End::on_closed;
    return callbacks;
}

void accept(void *context, const netblt_request *, netblt_answer *answer)
{
    static const netblt_client callbacks = client();
    answer->accept = true;
    answer->client = &callbacks;
    answer->context = context;
}

int open(netblt_endpoint *endpoint, End &end)
{
    const netblt_path path{}; // one peer only: its address has no bytes
    netblt_params params;
    netblt_params_default(&params);
    const netblt_client callbacks = client();
    netblt_open_args args{};
    args.size = sizeof args;
    args.path = &path;
    args.local_port = 40000;
    args.foreign_port = port;
    args.role = NETBLT_SENDER;
    args.unique_id = 12345; // random in a real program
    args.params = &params;
    args.client = &callbacks;
    args.context = &end;
    netblt_connection *connection = nullptr;
    return netblt_open(endpoint, &args, 0, &connection);
}

// ---- the line between them ----

struct Packet {
    netblt_time arrives_at;
    int to;
    std::vector<std::uint8_t> bytes;
};

class Line
{
  public:
    explicit Line(const Endpoint (&endpoints)[2]) : ends{endpoints[0].get(), endpoints[1].get()}
    {
    }

    // Lets everything happen that is due now. Returns the time at which something is due next.
    netblt_time step(netblt_time now)
    {
        for (; !packets.empty() && packets.front().arrives_at <= now; packets.pop_front()) {
            const Packet &packet = packets.front();
            netblt_input(ends[packet.to], &path, packet.bytes.data(), packet.bytes.size(), packet.bytes.size(), now);
        }
        for (int end = 0; end < 2; end++)
            send(end, now);
        const netblt_time next = std::min(netblt_deadline(ends[0]), netblt_deadline(ends[1]));
        return packets.empty() ? next : std::min(next, packets.front().arrives_at);
    }

  private:
    void send(int end, netblt_time now)
    {
        netblt_output output;
        netblt_timeout(ends[end], now);
        while (netblt_output_burst(ends[end], run.data(), run.size(), &output, now) > 0)
            for (std::size_t at = 0; at < output.length; at += output.segment_bytes) {
                const auto first = run.begin() + static_cast<std::ptrdiff_t>(at);
                const std::size_t bytes = std::min(output.segment_bytes, output.length - at);
                packets.push_back({now + delay_us, 1 - end, {first, first + static_cast<std::ptrdiff_t>(bytes)}});
            }
    }

    const netblt_path path{};
    netblt_endpoint *ends[2];
    std::deque<Packet> packets; // every packet takes the same time, so they arrive in order
    std::vector<std::uint8_t> run = std::vector<std::uint8_t>(NETBLT_PACKET_MAX_BYTES);
};

} // namespace

int main(int argc, char **argv)
{
    Memory memory;
    End sender, receiver;
    const Endpoint endpoints[2] = {make_endpoint(memory), make_endpoint(memory)};

    sender.bytes.resize(argc > 1 ? std::strtoul(argv[1], nullptr, 0) : 1000000);
    for (std::size_t i = 0; i < sender.bytes.size(); i++)
        sender.bytes[i] = static_cast<std::uint8_t>(i * i >> 7);
    if (endpoints[0] == nullptr || endpoints[1] == nullptr)
        return 2;
    Line line(endpoints);
    int error = netblt_listen(endpoints[1].get(), port, accept, &receiver);
    if (error == NETBLT_OK)
        error = open(endpoints[0].get(), sender);
    if (error != NETBLT_OK) {
        std::fprintf(stderr, "cannot open: %s\n", netblt_strerror(error));
        return 2;
    }
    netblt_time now = 0;
    for (netblt_time next = line.step(now); !sender.closed || !receiver.closed; next = line.step(now))
        now = std::max(next, now + 1); // what was due has been done
    const bool same = sender.result == NETBLT_DONE && sender.bytes == receiver.bytes;
    std::printf("%s, libnetblt %s: %zu bytes %s after %.3f s of virtual time, %zu allocations\n",
                netblt_result_name(sender.result), netblt_version(), receiver.bytes.size(),
                same ? "arrived whole" : "DIFFER", static_cast<double>(now) / 1e6, memory.calls);
    return same ? 0 : 1;
}
