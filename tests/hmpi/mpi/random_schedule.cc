// Generates the rounds of random_matcher. It calls no MPI function.
#include "random_schedule.h"

#include <algorithm>
#include <utility>

namespace random_matcher {

namespace {

// A derived type has 12 bytes of data (layout.h).
constexpr int kElementBytes = 12;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

bool has_request(Style style) {
  return style == Style::kNonblocking || style == Style::kPersistent ||
         style == Style::kCancelRace;
}

}  // namespace

int Schedule::below(int bound) {
  return static_cast<int>(random_() % static_cast<std::uint64_t>(bound));
}

/// Sizes by classes of protocols; large ones are rare.
int Schedule::random_size() {
  const int kind = below(1000);
  if (kind < 50) return 0;
  if (kind < 400) return 1 + below(40);
  if (kind < 600) return 250 + below(14);
  if (kind < 750) return below(1100);
  if (kind < 880) return 8185 + below(16);
  if (kind < 950) return below(20000);
  if (kind < 990) return 65530 + below(12);
  if (kind < 999) return below(300000);
  return (1 << 20) + below(1 << 20);
}

Wildcards Schedule::wildcards_of(int comm, int dest) {
  const auto [found, is_new] =
      wildcards_.try_emplace({comm, dest}, Wildcards::kNone);
  if (is_new && chance(45))
    found->second = static_cast<Wildcards>(1 + below(3));
  return found->second;
}

Schedule::Channel& Schedule::channel_of(const Operation& operation) {
  const bool any_source = operation.wildcards == Wildcards::kSource ||
                          operation.wildcards == Wildcards::kBoth;
  const bool any_tag = operation.wildcards == Wildcards::kTag ||
                       operation.wildcards == Wildcards::kBoth;
  return channels_[{operation.comm, operation.dest,
                    any_source ? kNone : operation.source,
                    any_tag ? kNone : operation.tag}];
}

int Schedule::push(Operation operation) {
  operation.choice = below(1 << 20);
  round_.operations.push_back(std::move(operation));
  return static_cast<int>(round_.operations.size()) - 1;
}

int Schedule::add_message(int comm, int source, int dest, int tag, int size) {
  const int number = numbers_[{comm, source, dest, tag}]++;
  round_.messages.push_back({comm, source, dest, tag, number, size});
  return static_cast<int>(round_.messages.size()) - 1;
}

/// Both ends are in the list now. A call with a request may be waited for.
void Schedule::pair(int send, int receive) {
  Operation& sent = round_.operations[at(send)];
  Operation& received = round_.operations[at(receive)];
  if (!is_determined(sent.wildcards)) return;
  received.message = sent.message;
  const Members& members = comms_[at(sent.comm)];
  if (has_request(sent.style)) {
    waitable_.emplace_back(members[at(sent.source)], send);
  }
  if (has_request(received.style)) {
    waitable_.emplace_back(members[at(received.dest)], receive);
  }
}

/// A send whose receive is not posted must not wait: it has a request, or it
/// is buffered.
void Schedule::choose_unmatched_send(Operation& send, int size) {
  int& buffered = buffered_bytes_[comms_[at(send.comm)][at(send.source)]];
  send.style = chance(25) ? Style::kPersistent : Style::kNonblocking;
  send.mode = chance(30) ? Mode::kSynchronous : Mode::kStandard;
  if (chance(25) && size < 100000 &&
      buffered + size + 200 < kMostBufferedBytes) {
    send.mode = Mode::kBuffered;
    send.style = chance(50) ? Style::kBlocking : Style::kNonblocking;
    buffered += size + 200;
  }
}

void Schedule::add_send(int comm, int source, int dest, int tag) {
  Operation send;
  send.kind = Kind::kSend;
  send.comm = comm;
  send.source = source;
  send.dest = dest;
  send.tag = tag;
  send.wildcards = wildcards_of(comm, dest);
  Channel& channel = channel_of(send);
  const bool is_posted =
      !channel.receives.empty() && is_determined(send.wildcards);
  int size = random_size();
  choose_unmatched_send(send, size);
  if (is_posted && send.mode != Mode::kBuffered && chance(60)) {
    send.style = chance(60) ? Style::kBlocking : Style::kNonblocking;
    send.mode = static_cast<Mode>(below(2));
    if (chance(25)) send.mode = Mode::kReady;
  }
  if (send.style == Style::kPersistent) {
    size = kPersistentSizes[below(4)];
  } else if (chance(25)) {
    send.layout = below(layouts_);
    size -= size % kElementBytes;
  }
  send.message = add_message(comm, source, dest, tag, size);
  channel.most_bytes = std::max(channel.most_bytes, size);
  const int place = push(std::move(send));
  if (channel.receives.empty()) {
    channel.sends.push_back(place);
    return;
  }
  const int receive = channel.receives.front();
  channel.receives.erase(channel.receives.begin());
  pair(place, receive);
}

void Schedule::add_receive(int comm, int source, int dest, int tag) {
  Operation receive;
  receive.kind = Kind::kReceive;
  receive.comm = comm;
  receive.source = source;
  receive.dest = dest;
  receive.tag = tag;
  receive.wildcards = wildcards_of(comm, dest);
  Channel& channel = channel_of(receive);
  if (channel.sends.empty() || chance(40)) {
    receive.style = chance(25)   ? Style::kPersistent
                    : chance(15) ? Style::kCancelRace
                                 : Style::kNonblocking;
  } else {
    const Style styles[] = {Style::kBlocking, Style::kBlocking,
                            Style::kProbe,    Style::kIprobe,
                            Style::kMprobe,   Style::kImprobe};
    receive.style = styles[below(6)];
  }
  if (receive.style != Style::kPersistent && chance(25)) {
    receive.layout = below(layouts_);
  }
  const int place = push(std::move(receive));
  if (channel.sends.empty()) {
    channel.receives.push_back(place);
    return;
  }
  const int send = channel.sends.front();
  channel.sends.erase(channel.sends.begin());
  pair(send, place);
}

/// Only if nothing is open on the two channels, so that the two messages meet
/// the two receives.
void Schedule::add_sendrecv(int comm, int source, int dest, int tag) {
  Operation there;
  there.kind = Kind::kSendrecv;
  there.comm = comm;
  there.source = source;
  there.dest = dest;
  there.tag = tag;
  there.wildcards = wildcards_of(comm, dest);
  Operation back = there;
  std::swap(back.source, back.dest);
  back.wildcards = wildcards_of(comm, source);
  for (const Operation* one : {&there, &back}) {
    const Channel& channel = channel_of(*one);
    if (!is_determined(one->wildcards) || !channel.sends.empty() ||
        !channel.receives.empty()) {
      return;
    }
  }
  if (source == dest) return;
  there.message = add_message(comm, source, dest, tag, random_size());
  there.other_message = add_message(comm, dest, source, tag, random_size());
  push(std::move(there));
}

/// Some rank waits for up to four of its requests.
void Schedule::add_wait() {
  if (waitable_.empty()) return;
  const int rank =
      waitable_[at(below(static_cast<int>(waitable_.size())))].first;
  Operation wait;
  wait.kind = Kind::kWait;
  wait.source = rank;
  const std::size_t most = at(1 + below(4));
  std::erase_if(waitable_, [&](const std::pair<int, int>& one) {
    if (one.first != rank || wait.waits.size() == most) return false;
    wait.waits.push_back(one.second);
    return true;
  });
  push(std::move(wait));
}

void Schedule::step() {
  const int comm = below(static_cast<int>(comms_.size()));
  const int members = static_cast<int>(comms_[at(comm)].size());
  const int source = below(members);
  const int dest = below(members);
  const int tag = below(kTags);
  const int kind = below(1000);
  Operation operation;
  operation.comm = comm;
  operation.source = source;
  if (kind < 380) {
    add_send(comm, source, dest, tag);
  } else if (kind < 760) {
    add_receive(comm, source, dest, tag);
  } else if (kind < 800) {
    add_sendrecv(comm, source, dest, tag);
  } else if (kind < 930) {
    add_wait();
  } else if (kind < 970) {
    operation.kind = Kind::kTest;
    push(std::move(operation));
  } else if (kind < 990) {
    operation.kind = Kind::kCancel;
    push(std::move(operation));
  } else {
    operation.kind = Kind::kCollective;
    push(std::move(operation));
  }
}

/// Gives each open send a receive, and each open receive a send.
void Schedule::finish_channels() {
  for (auto& [key, channel] : channels_) {
    const auto& [comm, dest, source, tag] = key;
    const int members = static_cast<int>(comms_[at(comm)].size());
    while (!channel.sends.empty()) {
      const Operation send = round_.operations[at(channel.sends.front())];
      add_receive(comm, send.source, dest, send.tag);
    }
    while (!channel.receives.empty()) {
      add_send(comm, source == kNone ? below(members) : source, dest,
               tag == kNone ? below(kTags) : tag);
    }
  }
}

/// A receive takes its message, and sometimes more would fit. With a wildcard
/// source it must take any message of its channel.
void Schedule::set_capacities() {
  for (Operation& operation : round_.operations) {
    if (operation.kind != Kind::kReceive) continue;
    const int needed = operation.message == kNone
                           ? channel_of(operation).most_bytes
                           : round_.messages[at(operation.message)].size;
    operation.capacity = needed + (operation.choice % 3 == 0 ? 100 : 0);
    if (operation.style != Style::kPersistent) continue;
    // Few different capacities, so that persistent requests are used again.
    for (const int size : {300, 8300, 70000}) {
      if (needed <= size) {
        operation.capacity = size;
        break;
      }
    }
  }
}

Round Schedule::next(int operations) {
  round_ = Round();
  round_.first_operation = operations_;
  wildcards_.clear();
  channels_.clear();
  buffered_bytes_.clear();
  waitable_.clear();
  const int ends = operations - operations / 5;
  int tries = 0;
  while (static_cast<int>(round_.operations.size()) < ends &&
         ++tries < 20 * operations) {
    step();
  }
  finish_channels();
  set_capacities();
  operations_ += static_cast<int>(round_.operations.size());
  return std::move(round_);
}

}  // namespace random_matcher
