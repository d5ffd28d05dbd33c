// The table of patterns, and each pattern as a class. Called by main.cc. It may
// call only machine.h, so that QMP and MPI run the same patterns.
#include "rows.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "machine.h"

namespace qmp_perf {

namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = kKiB * kKiB;
constexpr int kWindow = 16;

/// A buffer full of `seed` that never grows.
unsigned char* buffer(std::size_t bytes, int seed) {
  auto* memory = static_cast<unsigned char*>(allocate(bytes));
  std::fill_n(memory, bytes, static_cast<unsigned char>(seed));
  return memory;
}

/// Whether every block has the bytes of the sender.
bool holds(const unsigned char* memory, const Shape& shape, int seed) {
  for (int block = 0; block < shape.count; ++block) {
    const unsigned char* begin = memory + block * shape.stride;
    if (std::any_of(begin, begin + shape.block, [seed](unsigned char byte) {
          return byte != static_cast<unsigned char>(seed);
        })) {
      return false;
    }
  }
  return true;
}

/// Nodes 0 and 1 take part, the others do nothing.
bool is_player() {
  return node() < 2;
}

int peer() {
  return 1 - node();
}

Pattern idle() {
  return {[] {}, 1, [] { return true; },
          [] {
          }};
}

/// A message there and one back, on handles declared once.
Pattern ping_pong(std::size_t bytes) {
  if (!is_player()) {
    return idle();
  }
  const Shape shape{bytes};
  unsigned char* in = buffer(bytes, 0);
  Handle* send = declare(Way::kSend, buffer(bytes, node() + 1), shape, peer());
  Handle* receive = declare(Way::kReceive, in, shape, peer());
  const bool is_first = node() == 0;
  return {[=] {
            start(receive);
            if (is_first) {
              start(send);
              wait(receive);
            } else {
              wait(receive);
              start(send);
            }
            wait(send);
          },
          2, [=] { return holds(in, shape, peer() + 1); },
          [=] {
            free(send);
            free(receive);
          }};
}

/// Several messages from node 0, and one message back.
Pattern stream(std::size_t bytes) {
  if (!is_player()) {
    return idle();
  }
  const Shape shape{bytes};
  const bool is_sender = node() == 0;
  const Way way = is_sender ? Way::kSend : Way::kReceive;
  std::vector<Handle*> parts;
  unsigned char* memory = nullptr;
  for (int i = 0; i < kWindow; ++i) {
    memory = buffer(bytes, is_sender ? 1 : 0);
    parts.push_back(declare(way, memory, shape, peer()));
  }
  Handle* window = together(parts);
  Handle* answer = declare(is_sender ? Way::kReceive : Way::kSend, buffer(8, 1),
                           {8}, peer());
  return {[=] {
            start(window);
            if (is_sender) {
              start(answer);
              wait(window);
            } else {
              wait(window);
              start(answer);
            }
            wait(answer);
          },
          kWindow, [=] { return holds(memory, shape, 1); },
          [=] {
            free(window);
            free(answer);
          }};
}

/// Handles that are declared, used once and freed: the cost of a program that
/// does not keep them.
Pattern one_shot(std::size_t bytes) {
  if (!is_player()) {
    return idle();
  }
  const Shape shape{bytes};
  unsigned char* in = buffer(bytes, 0);
  unsigned char* out = buffer(bytes, node() + 1);
  return {[=] {
            Handle* receive = declare(Way::kReceive, in, shape, peer());
            Handle* send = declare(Way::kSend, out, shape, peer());
            start(receive);
            start(send);
            wait(receive);
            wait(send);
            free(receive);
            free(send);
          },
          1, [=] { return holds(in, shape, peer() + 1); },
          [] {
          }};
}

/// Sends and receives both surfaces of an axis.
Pattern halo(const Shape& shape) {
  if (!is_player()) {
    return idle();
  }
  const std::size_t span =
      shape.block + static_cast<std::size_t>(shape.stride) *
                        static_cast<std::size_t>(shape.count - 1);
  unsigned char* below = buffer(span, 0);
  unsigned char* above = buffer(span, 0);
  Handle* all =
      together({declare(Way::kReceive, below, shape, peer()),
                declare(Way::kReceive, above, shape, peer()),
                declare(Way::kSend, buffer(span, node() + 1), shape, peer()),
                declare(Way::kSend, buffer(span, node() + 1), shape, peer())});
  return {[=] {
            start(all);
            wait(all);
          },
          1,
          [=] {
            return holds(below, shape, peer() + 1) &&
                   holds(above, shape, peer() + 1);
          },
          [=] {
            free(all);
          }};
}

Pattern barriers() {
  return {[] { barrier(); }, 1, [] { return true; },
          [] {
          }};
}

Pattern sums(int count) {
  auto values = std::make_shared<std::vector<double>>(count);
  return {[=] {
            std::fill(values->begin(), values->end(), node() + 1.0);
            sum(values->data(), count);
          },
          1, [=] { return values->back() == nodes() * (nodes() + 1) / 2.0; },
          [] {
          }};
}

Pattern broadcasts(std::size_t bytes) {
  unsigned char* memory = buffer(bytes, node() == 0 ? 7 : 0);
  return {[=] { broadcast(memory, bytes); }, 1,
          [=] { return holds(memory, {bytes}, 7); },
          [] {
          }};
}

}  // namespace

/// Rows as data: name, pattern, and whether they need a second node.
const std::vector<Row>& rows() {
  static const std::vector<Row> all{
      {"ping_pong.8", "half a round trip of 8 bytes", true,
       [] {
         return ping_pong(8);
       }},
      {"ping_pong.4K", "the same, 4 KiB", true,
       [] {
         return ping_pong(4 * kKiB);
       }},
      {"ping_pong.64K", "the same, 64 KiB", true,
       [] {
         return ping_pong(64 * kKiB);
       }},
      {"ping_pong.1M", "the same, 1 MiB", true,
       [] {
         return ping_pong(kMiB);
       }},
      {"stream.1K", "one of 16 messages of 1 KiB, one way", true,
       [] {
         return stream(kKiB);
       }},
      {"stream.1M", "one of 16 messages of 1 MiB, one way", true,
       [] {
         return stream(kMiB);
       }},
      {"one_shot.8", "declare, start, wait, free: 8 bytes both ways", true,
       [] {
         return one_shot(8);
       }},
      {"halo.64K", "both surfaces of an axis, 64 KiB each, as a multiple", true,
       [] {
         return halo({64 * kKiB});
       }},
      {"halo_strided.64K", "the same in 64 blocks of 1 KiB, 4 KiB apart", true,
       [] {
         return halo({kKiB, 64, 4 * kKiB});
       }},
      {"barrier", "barrier", false,
       [] {
         return barriers();
       }},
      {"sum_double", "sum of a double", false,
       [] {
         return sums(1);
       }},
      {"sum_double.1024", "sum of 1024 doubles", false,
       [] {
         return sums(1024);
       }},
      {"broadcast.8", "broadcast of 8 bytes", false,
       [] {
         return broadcasts(8);
       }},
      {"broadcast.64K", "broadcast of 64 KiB", false,
       [] {
         return broadcasts(64 * kKiB);
       }},
  };
  return all;
}

}  // namespace qmp_perf
