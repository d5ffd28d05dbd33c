// Derived types on either side, types that are freed early, and messages that
// are shorter than their receive.
#include <utility>

#include "check.h"
#include "layout.h"
#include "payload.h"

namespace {

using mpi_check::contents_of;
using mpi_check::GuardedBuffer;
using mpi_check::Layout;
using mpi_check::Peers;
using mpi_check::peers_of;
using mpi_check::seed_of;
using mpi_check::world_rank;

constexpr int kElement = Layout::kElementBytes;

std::size_t stream_bytes(int count) {
  return static_cast<std::size_t>(count) * kElement;
}

/// The message lies in the buffer as the layout says, and nothing else does.
void check_layout(GuardedBuffer& buffer,
                  const Layout& layout,
                  std::size_t bytes,
                  std::uint64_t seed) {
  const auto stream = layout.gather(buffer.data(), bytes);
  CHECK_EQUAL(mpi_check::first_difference(stream.data(), bytes, seed), bytes);
  CHECK(buffer.is_untouched_from(0));
}

/// Sends by one layout and receives by another. The receive is posted before
/// the send in every second exchange.
void exchange(const Layout& from, const Layout& to, int count, bool is_first) {
  const Peers peers = peers_of(1);
  GuardedBuffer out(from.span(count));
  from.scatter(out.data(),
               contents_of(stream_bytes(count), seed_of({world_rank, count})));
  GuardedBuffer in(to.span(count));
  MPI_Request requests[2];
  const auto receive = [&] {
    MPI_Irecv(in.data(), count, to.type(), peers.from, 1, MPI_COMM_WORLD,
              &requests[0]);
  };
  if (is_first) receive();
  if (is_first) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Isend(out.data(), count, from.type(), peers.to, 1, MPI_COMM_WORLD,
            &requests[1]);
  if (!is_first) receive();
  MPI_Status statuses[2];
  MPI_Waitall(2, requests, statuses);
  CHECK_STATUS(statuses[0], peers.from, 1, stream_bytes(count));
  int elements = -1;
  MPI_Get_count(&statuses[0], to.type(), &elements);
  CHECK_EQUAL(elements, count);
  MPI_Get_elements(&statuses[0], to.type(), &elements);
  CHECK_EQUAL(elements, count * kElement);
  check_layout(in, to, stream_bytes(count), seed_of({peers.from, count}));
}

MPI_CASE("types.all-pairs") {
  const auto layouts = mpi_check::all_layouts();
  for (const Layout& from : layouts) {
    for (const Layout& to : layouts) {
      for (const int count : {1, 3, 21, 22, 700, 6000}) {
        exchange(from, to, count, count % 2 == 1);
      }
    }
  }
}

MPI_CASE("types.large") {
  const auto layouts = mpi_check::all_layouts();
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    exchange(layouts[i], layouts[(i + 1) % layouts.size()], 100000, i % 2 == 0);
  }
  const Layout interleaved = mpi_check::interleaved_layout();
  // Elements of 6 bytes each way: more would let the two halves meet.
  for (const int count : {1, 100, 16000}) {
    exchange(interleaved, layouts[0], count, count == 100);
    exchange(layouts[1], interleaved, count, count == 100);
  }
}

/// A plain buffer to a layout, and back: MPI_BYTE has the same signature.
MPI_CASE("types.plain-and-derived") {
  const Peers peers = peers_of(1);
  for (const Layout& layout : mpi_check::all_layouts()) {
    for (const int count : {2, 1000, 30000}) {
      const auto stream = contents_of(stream_bytes(count), 31);
      GuardedBuffer derived(layout.span(count));
      MPI_Sendrecv(stream.data(), count * kElement, MPI_BYTE, peers.to, 1,
                   derived.data(), count, layout.type(), peers.from, 1,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      GuardedBuffer copy = derived;
      check_layout(copy, layout, stream.size(), 31);
      GuardedBuffer plain(stream.size());
      MPI_Sendrecv(derived.data(), count, layout.type(), peers.to, 1,
                   plain.data(), count * kElement, MPI_BYTE, peers.from, 1,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_CONTENTS(plain, stream.size(), 31);
    }
  }
}

/// All modes carry derived types.
MPI_CASE("types.modes") {
  const Peers peers = peers_of(1);
  const Layout layout = mpi_check::permuted_layout();
  for (const int count : {3, 500, 20000}) {
    GuardedBuffer out(layout.span(count));
    layout.scatter(out.data(), contents_of(stream_bytes(count), 32));
    std::vector<std::byte> attached(stream_bytes(count) + 1000 +
                                    MPI_BSEND_OVERHEAD);
    MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size()));
    std::vector<GuardedBuffer> in(5, GuardedBuffer(layout.span(count)));
    MPI_Request receives[5];
    for (int i = 0; i < 5; ++i) {
      MPI_Irecv(in[static_cast<std::size_t>(i)].data(), count, layout.type(),
                peers.from, i, MPI_COMM_WORLD, &receives[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const MPI_Comm world = MPI_COMM_WORLD;
    MPI_Send(out.data(), count, layout.type(), peers.to, 0, world);
    MPI_Ssend(out.data(), count, layout.type(), peers.to, 1, world);
    MPI_Rsend(out.data(), count, layout.type(), peers.to, 2, world);
    MPI_Bsend(out.data(), count, layout.type(), peers.to, 3, world);
    MPI_Request persistent;
    MPI_Send_init(out.data(), count, layout.type(), peers.to, 4, world,
                  &persistent);
    MPI_Start(&persistent);
    MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    MPI_Request_free(&persistent);
    MPI_Waitall(5, receives, MPI_STATUSES_IGNORE);
    for (GuardedBuffer& buffer : in) {
      check_layout(buffer, layout, stream_bytes(count), 32);
    }
    void* memory = nullptr;
    int bytes = 0;
    MPI_Buffer_detach(static_cast<void*>(&memory), &bytes);
  }
}

/// Probed messages are received by a derived type, through their handle too.
MPI_CASE("types.matched-probe") {
  const Peers peers = peers_of(1);
  const Layout layout = mpi_check::vector_layout();
  for (const int count : {1, 400, 20000}) {
    const auto stream = contents_of(stream_bytes(count), 33);
    MPI_Request send;
    MPI_Isend(stream.data(), count * kElement, MPI_BYTE, peers.to, 1,
              MPI_COMM_WORLD, &send);
    MPI_Message message;
    MPI_Status status;
    MPI_Mprobe(peers.from, 1, MPI_COMM_WORLD, &message, &status);
    int elements = -1;
    MPI_Get_count(&status, layout.type(), &elements);
    CHECK_EQUAL(elements, count);
    GuardedBuffer in(layout.span(count));
    MPI_Mrecv(in.data(), count, layout.type(), &message, &status);
    check_layout(in, layout, stream.size(), 33);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
  }
}

/// The types are freed while receives and sends that use them are pending.
MPI_CASE("types.freed-while-pending") {
  const Peers peers = peers_of(1);
  for (const int count : {2, 600, 30000}) {
    Layout layout = mpi_check::permuted_layout();
    Layout other = mpi_check::nested_layout();
    GuardedBuffer in(layout.span(count));
    GuardedBuffer out(other.span(count));
    other.scatter(out.data(), contents_of(stream_bytes(count), 34));
    MPI_Request requests[2];
    MPI_Irecv(in.data(), count, layout.type(), peers.from, 1, MPI_COMM_WORLD,
              &requests[0]);
    layout.free();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(out.data(), count, other.type(), peers.to, 1, MPI_COMM_WORLD,
              &requests[1]);
    other.free();
    // Types that are made now may get the memory of the freed ones.
    const auto others = mpi_check::all_layouts();
    MPI_Status statuses[2];
    MPI_Waitall(2, requests, statuses);
    CHECK_STATUS(statuses[0], peers.from, 1, stream_bytes(count));
    check_layout(in, layout, stream_bytes(count), 34);
  }
}

/// A persistent request keeps its type over all starts.
MPI_CASE("types.freed-persistent") {
  const Peers peers = peers_of(1);
  Layout layout = mpi_check::subarray_layout();
  constexpr int kCount = 100;
  GuardedBuffer in(layout.span(kCount));
  GuardedBuffer out(layout.span(kCount));
  MPI_Request requests[2];
  MPI_Recv_init(in.data(), kCount, layout.type(), peers.from, 1, MPI_COMM_WORLD,
                &requests[0]);
  MPI_Send_init(out.data(), kCount, layout.type(), peers.to, 1, MPI_COMM_WORLD,
                &requests[1]);
  layout.free();
  for (const std::uint64_t seed : {1, 2, 3}) {
    layout.scatter(out.data(), contents_of(stream_bytes(kCount), seed));
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check_layout(in, layout, stream_bytes(kCount), seed);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

/// Messages that end inside an element.
MPI_CASE("types.shorter-message") {
  const Peers peers = peers_of(1);
  for (const Layout& layout : mpi_check::all_layouts()) {
    for (const int bytes : {0, 1, 5, 12, 36, 41, 11999, 12000, 100001}) {
      const auto stream = contents_of(static_cast<std::size_t>(bytes), 35);
      constexpr int kCapacity = 9000;
      GuardedBuffer in(layout.span(kCapacity));
      MPI_Status status;
      MPI_Sendrecv(stream.data(), bytes, MPI_BYTE, peers.to, 1, in.data(),
                   kCapacity, layout.type(), peers.from, 1, MPI_COMM_WORLD,
                   &status);
      int count = -1;
      MPI_Get_count(&status, layout.type(), &count);
      CHECK_EQUAL(count,
                  bytes % kElement == 0 ? bytes / kElement : MPI_UNDEFINED);
      MPI_Get_elements(&status, layout.type(), &count);
      CHECK_EQUAL(count, bytes);
      MPI_Count wide = -1;
      MPI_Get_elements_x(&status, layout.type(), &wide);
      CHECK_EQUAL(wide, bytes);
      check_layout(in, layout, stream.size(), 35);
    }
  }
}

struct Record {
  int id;
  double value;
  char text[5];
};

/// A struct of several basic types, with counts of its basic elements.
MPI_CASE("types.struct") {
  const Peers peers = peers_of(1);
  const int lengths[] = {1, 1, 5};
  const MPI_Aint starts[] = {offsetof(Record, id), offsetof(Record, value),
                             offsetof(Record, text)};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
  MPI_Datatype packed;
  MPI_Datatype type;
  MPI_Type_create_struct(3, lengths, starts, types, &packed);
  MPI_Type_create_resized(packed, 0, sizeof(Record), &type);
  MPI_Type_free(&packed);
  MPI_Type_commit(&type);
  for (const int count : {1, 10, 5000}) {
    std::vector<Record> out(static_cast<std::size_t>(count));
    std::vector<Record> in(out.size() + 1);
    for (int i = 0; i < count; ++i) {
      out[static_cast<std::size_t>(i)] = {i + world_rank, i * 0.5, "four"};
    }
    MPI_Status status;
    MPI_Sendrecv(out.data(), count, type, peers.to, 1, in.data(), count + 1,
                 type, peers.from, 1, MPI_COMM_WORLD, &status);
    int elements = -1;
    MPI_Get_elements(&status, type, &elements);
    CHECK_EQUAL(elements, count * 7);
    for (int i = 0; i < count; ++i) {
      const Record& record = in[static_cast<std::size_t>(i)];
      CHECK_EQUAL(record.id, i + peers.from);
      CHECK_EQUAL(record.value, i * 0.5);
      CHECK_EQUAL(std::strcmp(record.text, "four"), 0);
    }
  }
  MPI_Type_free(&type);
}

/// Types without data, and absolute addresses from MPI_BOTTOM.
MPI_CASE("types.empty-and-bottom") {
  const Peers peers = peers_of(1);
  MPI_Datatype empty;
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  MPI_Status status;
  MPI_Sendrecv(nullptr, 7, empty, peers.to, 1, nullptr, 3, empty, peers.from, 1,
               MPI_COMM_WORLD, &status);
  CHECK_STATUS(status, peers.from, 1, 0);
  MPI_Type_free(&empty);

  int out[2] = {world_rank, 17};
  int in[2] = {-1, -1};
  MPI_Datatype types[2];
  int* arrays[] = {out, in};
  for (const int i : {0, 1}) {
    MPI_Aint addresses[2];
    MPI_Get_address(&arrays[i][0], &addresses[0]);
    MPI_Get_address(&arrays[i][1], &addresses[1]);
    MPI_Type_create_hindexed_block(2, 1, addresses, MPI_INT, &types[i]);
    MPI_Type_commit(&types[i]);
  }
  MPI_Sendrecv(MPI_BOTTOM, 1, types[0], peers.to, 1, MPI_BOTTOM, 1, types[1],
               peers.from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK_EQUAL(in[0], peers.from);
  CHECK_EQUAL(in[1], 17);
  MPI_Type_free(&types[0]);
  MPI_Type_free(&types[1]);
}

/// The output of MPI_Pack travels as MPI_PACKED and is received by the type.
MPI_CASE("types.packed") {
  const Peers peers = peers_of(1);
  const Layout layout = mpi_check::reversed_layout();
  for (const int count : {2, 3000}) {
    GuardedBuffer out(layout.span(count));
    layout.scatter(out.data(), contents_of(stream_bytes(count), 36));
    int bytes = 0;
    MPI_Pack_size(count, layout.type(), MPI_COMM_WORLD, &bytes);
    std::vector<std::byte> packed(static_cast<std::size_t>(bytes));
    int at = 0;
    MPI_Pack(out.data(), count, layout.type(), packed.data(), bytes, &at,
             MPI_COMM_WORLD);
    GuardedBuffer in(layout.span(count));
    MPI_Sendrecv(packed.data(), at, MPI_PACKED, peers.to, 1, in.data(), count,
                 layout.type(), peers.from, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    check_layout(in, layout, stream_bytes(count), 36);
  }
}

int copies_of_attributes = 0;

int count_copy(MPI_Datatype /*type*/,
               int /*keyval*/,
               void* /*extra*/,
               void* value,
               void* copied,
               int* flag) {
  ++copies_of_attributes;
  *static_cast<void**>(copied) = value;
  *flag = 1;
  return MPI_SUCCESS;
}

/// A receive keeps the type that the program frees, and copies no attribute.
MPI_CASE("types.attributes-not-copied") {
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Type_create_keyval(count_copy, MPI_TYPE_NULL_DELETE_FN, &keyval, nullptr);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(3, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Type_set_attr(type, keyval, nullptr);
  const int out[5] = {1, -1, 2, -1, 3};
  int in[5] = {};
  MPI_Request requests[2];
  MPI_Irecv(in, 1, type, world_rank, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, 1, type, world_rank, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Type_free(&type);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK_EQUAL(in[0] + in[2] + in[4], 6);
  CHECK_EQUAL(copies_of_attributes, 0);
  MPI_Type_free_keyval(&keyval);
}

}  // namespace
