// Messages on communicators of every kind, attributes, and error handlers.
#include <algorithm>
#include <functional>

#include "check.h"
#include "payload.h"

namespace {

using mpi_check::contents_of;
using mpi_check::error_class;
using mpi_check::GuardedBuffer;
using mpi_check::seed_of;
using mpi_check::world_rank;
using mpi_check::world_size;

/// All communicators use this tag. Contents tell them apart.
constexpr int kTag = 1;

/// The members of a group, by their ranks in the world.
std::vector<int> world_ranks_of(MPI_Group group) {
  int size = 0;
  MPI_Group_size(group, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::vector<int> in_world(ranks.size());
  for (int i = 0; i < size; ++i)
    ranks[static_cast<std::size_t>(i)] = i;
  MPI_Group world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_translate_ranks(group, size, ranks.data(), world, in_world.data());
  MPI_Group_free(&world);
  return in_world;
}

/// The world ranks of the receivers of messages on the communicator.
std::vector<int> partners_of(MPI_Comm comm) {
  int is_inter = 0;
  MPI_Comm_test_inter(comm, &is_inter);
  MPI_Group group;
  if (is_inter != 0) {
    MPI_Comm_remote_group(comm, &group);
  } else {
    MPI_Comm_group(comm, &group);
  }
  auto partners = world_ranks_of(group);
  MPI_Group_free(&group);
  return partners;
}

/// Messages between all pairs of a communicator, in two parts: begin() posts
/// everything, end() checks. Others may begin in between.
class Talk {
 public:
  Talk(MPI_Comm comm, int number)
      : comm_(comm), number_(number), partners_(partners_of(comm)) {
    const std::size_t count = partners_.size();
    for (std::size_t i = 0; i < count; ++i) {
      for (const int size : {5, 9000}) {
        in_.emplace_back(static_cast<std::size_t>(size));
        out_.push_back(
            contents_of(static_cast<std::size_t>(size),
                        seed_of({number, world_rank, partners_[i], size})));
      }
    }
    requests_.resize(2 * in_.size(), MPI_REQUEST_NULL);
    begin();
  }

  void end() {
    std::vector<MPI_Status> statuses(requests_.size());
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(),
                statuses.data());
    for (std::size_t i = 0; i < in_.size(); ++i) {
      const int size = static_cast<int>(in_[i].size());
      CHECK_STATUS(statuses[i], static_cast<int>(i / 2), kTag, size);
      CHECK_CONTENTS(in_[i], size,
                     seed_of({number_, partners_[i / 2], world_rank, size}));
    }
  }

 private:
  void begin() {
    for (std::size_t i = 0; i < in_.size(); ++i) {
      MPI_Irecv(in_[i].data(), static_cast<int>(in_[i].size()), MPI_BYTE,
                static_cast<int>(i / 2), kTag, comm_, &requests_[i]);
    }
    for (std::size_t i = 0; i < out_.size(); ++i) {
      MPI_Isend(out_[i].data(), static_cast<int>(out_[i].size()), MPI_BYTE,
                static_cast<int>(i / 2), kTag, comm_,
                &requests_[in_.size() + i]);
    }
  }

  MPI_Comm comm_;
  int number_;
  std::vector<int> partners_;
  std::vector<GuardedBuffer> in_;
  std::vector<std::vector<std::byte>> out_;
  std::vector<MPI_Request> requests_;
};

void talk(MPI_Comm comm, int number) {
  if (comm != MPI_COMM_NULL) Talk(comm, number).end();
}

void free_comm(MPI_Comm comm) {
  if (comm != MPI_COMM_NULL && comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
}

MPI_Comm dup(MPI_Comm parent) {
  MPI_Comm comm;
  MPI_Comm_dup(parent, &comm);
  return comm;
}

MPI_Comm dup_with_info(MPI_Comm parent) {
  MPI_Comm comm;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Comm_dup_with_info(parent, info, &comm);
  MPI_Info_free(&info);
  return comm;
}

MPI_Comm idup(MPI_Comm parent) {
  MPI_Comm comm;
  MPI_Request request;
  MPI_Comm_idup(parent, &comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return comm;
}

/// The ranks of the parent in reverse.
MPI_Comm split_reversed(MPI_Comm parent) {
  MPI_Comm comm;
  int rank = 0;
  MPI_Comm_rank(parent, &rank);
  MPI_Comm_split(parent, 0, -rank, &comm);
  return comm;
}

MPI_Comm split_parity(MPI_Comm parent) {
  MPI_Comm comm;
  int rank = 0;
  MPI_Comm_rank(parent, &rank);
  MPI_Comm_split(parent, rank % 2, rank, &comm);
  return comm;
}

/// The last rank is in no communicator, if there is another.
MPI_Comm split_undefined(MPI_Comm parent) {
  MPI_Comm comm;
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(parent, &rank);
  MPI_Comm_size(parent, &size);
  const bool is_out = size > 1 && rank == size - 1;
  MPI_Comm_split(parent, is_out ? MPI_UNDEFINED : 3, rank, &comm);
  CHECK_EQUAL(comm == MPI_COMM_NULL, is_out);
  return comm;
}

MPI_Comm split_type(MPI_Comm parent) {
  MPI_Comm comm;
  MPI_Comm_split_type(parent, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
  return comm;
}

/// A group of the even ranks of the parent, the highest first.
MPI_Group even_group(MPI_Comm parent) {
  int size = 0;
  MPI_Comm_size(parent, &size);
  std::vector<int> ranks;
  for (int rank = (size - 1) / 2 * 2; rank >= 0; rank -= 2) {
    ranks.push_back(rank);
  }
  MPI_Group whole;
  MPI_Group evens;
  MPI_Comm_group(parent, &whole);
  MPI_Group_incl(whole, static_cast<int>(ranks.size()), ranks.data(), &evens);
  MPI_Group_free(&whole);
  return evens;
}

MPI_Comm create(MPI_Comm parent) {
  MPI_Comm comm;
  MPI_Group evens = even_group(parent);
  MPI_Comm_create(parent, evens, &comm);
  MPI_Group_free(&evens);
  return comm;
}

/// Only members call MPI_Comm_create_group.
MPI_Comm create_group(MPI_Comm parent) {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  MPI_Comm_rank(parent, &rank);
  MPI_Group evens = even_group(parent);
  if (rank % 2 == 0) MPI_Comm_create_group(parent, evens, 7, &comm);
  MPI_Group_free(&evens);
  return comm;
}

/// A torus of up to two dimensions. Reordering is allowed.
MPI_Comm cart(MPI_Comm parent) {
  MPI_Comm comm;
  int size = 0;
  MPI_Comm_size(parent, &size);
  int dimensions[2] = {0, 0};
  const int periods[2] = {1, 1};
  MPI_Dims_create(size, 2, dimensions);
  MPI_Cart_create(parent, 2, dimensions, periods, 1, &comm);
  return comm;
}

MPI_Comm cart_sub(MPI_Comm parent) {
  MPI_Comm whole = cart(parent);
  MPI_Comm comm;
  const int kept[2] = {1, 0};
  MPI_Cart_sub(whole, kept, &comm);
  MPI_Comm_free(&whole);
  return comm;
}

/// A ring as a graph.
MPI_Comm graph(MPI_Comm parent) {
  MPI_Comm comm;
  int size = 0;
  MPI_Comm_size(parent, &size);
  std::vector<int> ends;
  std::vector<int> edges;
  for (int rank = 0; rank < size; ++rank) {
    edges.push_back((rank + size - 1) % size);
    edges.push_back((rank + 1) % size);
    ends.push_back(static_cast<int>(edges.size()));
  }
  MPI_Graph_create(parent, size, ends.data(), edges.data(), 0, &comm);
  return comm;
}

MPI_Comm dist_graph(MPI_Comm parent) {
  MPI_Comm comm;
  int size = 0;
  int rank = 0;
  MPI_Comm_size(parent, &size);
  MPI_Comm_rank(parent, &rank);
  const int degree = 1;
  const int next = (rank + 1) % size;
  MPI_Dist_graph_create(parent, 1, &rank, &degree, &next, MPI_UNWEIGHTED,
                        MPI_INFO_NULL, 0, &comm);
  return comm;
}

MPI_Comm dist_graph_adjacent(MPI_Comm parent) {
  MPI_Comm comm;
  int size = 0;
  int rank = 0;
  MPI_Comm_size(parent, &size);
  MPI_Comm_rank(parent, &rank);
  const int next = (rank + 1) % size;
  const int previous = (rank + size - 1) % size;
  MPI_Dist_graph_create_adjacent(parent, 1, &previous, MPI_UNWEIGHTED, 1, &next,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  return comm;
}

/// Even ranks on one side, odd ranks on the other. Needs two ranks.
MPI_Comm intercomm(MPI_Comm parent) {
  int size = 0;
  int rank = 0;
  MPI_Comm_size(parent, &size);
  MPI_Comm_rank(parent, &rank);
  if (size < 2) return MPI_COMM_NULL;
  MPI_Comm half = split_parity(parent);
  MPI_Comm comm;
  MPI_Intercomm_create(half, 0, parent, rank % 2 == 0 ? 1 : 0, 5, &comm);
  MPI_Comm_free(&half);
  return comm;
}

MPI_Comm intercomm_dup(MPI_Comm parent) {
  MPI_Comm between = intercomm(parent);
  if (between == MPI_COMM_NULL) return MPI_COMM_NULL;
  MPI_Comm comm = dup(between);
  MPI_Comm_free(&between);
  return comm;
}

MPI_Comm intercomm_merge(MPI_Comm parent) {
  MPI_Comm between = intercomm(parent);
  if (between == MPI_COMM_NULL) return MPI_COMM_NULL;
  int rank = 0;
  MPI_Comm_rank(parent, &rank);
  MPI_Comm comm;
  MPI_Intercomm_merge(between, rank % 2 == 0 ? 1 : 0, &comm);
  MPI_Comm_free(&between);
  return comm;
}

struct Maker {
  const char* name;
  MPI_Comm (*make)(MPI_Comm parent);
};

constexpr Maker kMakers[] = {{"dup", dup},
                             {"dup_with_info", dup_with_info},
                             {"idup", idup},
                             {"split reversed", split_reversed},
                             {"split by parity", split_parity},
                             {"split undefined", split_undefined},
                             {"split_type", split_type},
                             {"create", create},
                             {"create_group", create_group},
                             {"cart", cart},
                             {"cart_sub", cart_sub},
                             {"graph", graph},
                             {"dist_graph", dist_graph},
                             {"dist_graph_adjacent", dist_graph_adjacent},
                             {"intercomm", intercomm},
                             {"intercomm dup", intercomm_dup},
                             {"intercomm merge", intercomm_merge}};

MPI_CASE("communicators.each") {
  for (const Maker& maker : kMakers) {
    for (int round = 0; round < 2; ++round) {
      MPI_Comm comm = maker.make(MPI_COMM_WORLD);
      talk(comm, round);
      talk(MPI_COMM_SELF, round);
      free_comm(comm);
    }
  }
}

/// Communicators made out of each other.
MPI_CASE("communicators.nested") {
  for (const Maker& outer : kMakers) {
    MPI_Comm first = outer.make(MPI_COMM_WORLD);
    int is_inter = 0;
    if (first != MPI_COMM_NULL) MPI_Comm_test_inter(first, &is_inter);
    if (first != MPI_COMM_NULL && is_inter == 0) {
      for (const auto& make :
           {dup, split_reversed, create, create_group, cart, intercomm_merge}) {
        MPI_Comm second = make(first);
        talk(second, 1);
        free_comm(second);
      }
      talk(first, 2);
    }
    free_comm(first);
  }
}

/// The same tags and partners on all communicators at once. The receives are
/// posted in one order on all ranks; the waits are in reverse.
MPI_CASE("communicators.all-at-once") {
  std::vector<MPI_Comm> comms = {MPI_COMM_WORLD};
  for (const Maker& maker : kMakers) {
    comms.push_back(maker.make(MPI_COMM_WORLD));
    comms.push_back(maker.make(MPI_COMM_WORLD));
  }
  std::vector<Talk> talks;
  for (std::size_t i = 0; i < comms.size(); ++i) {
    if (comms[i] != MPI_COMM_NULL) {
      talks.emplace_back(comms[i], static_cast<int>(i));
    }
  }
  for (std::size_t i = talks.size(); i-- > 0;)
    talks[i].end();
  for (MPI_Comm comm : comms)
    free_comm(comm);
}

/// A message on one communicator is not found on another.
MPI_CASE("communicators.apart") {
  const mpi_check::Peers peers = mpi_check::peers_of(1);
  MPI_Comm first = dup(MPI_COMM_WORLD);
  MPI_Comm second = dup(MPI_COMM_WORLD);
  MPI_Request send;
  MPI_Isend(&world_rank, 1, MPI_INT, peers.to, kTag, second, &send);
  MPI_Barrier(first);
  int is_there = 0;
  for (int i = 0; i < 100; ++i) {
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, first, &is_there,
               MPI_STATUS_IGNORE);
    CHECK_EQUAL(is_there, 0);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there,
               MPI_STATUS_IGNORE);
    CHECK_EQUAL(is_there, 0);
  }
  int value = -1;
  MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, second,
           MPI_STATUS_IGNORE);
  CHECK_EQUAL(value, peers.from);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  MPI_Comm_free(&first);
  MPI_Comm_free(&second);
}

/// A communicator that is freed with messages pending lives until they end.
MPI_CASE("communicators.freed-while-pending") {
  const mpi_check::Peers peers = mpi_check::peers_of(1);
  for (const int size : {8, 100000}) {
    MPI_Comm comm = dup(MPI_COMM_WORLD);
    const auto data = contents_of(static_cast<std::size_t>(size), 41);
    GuardedBuffer in(static_cast<std::size_t>(size));
    MPI_Request requests[2];
    MPI_Irecv(in.data(), size, MPI_BYTE, peers.from, kTag, comm, &requests[0]);
    MPI_Isend(data.data(), size, MPI_BYTE, peers.to, kTag, comm, &requests[1]);
    MPI_Comm_free(&comm);
    CHECK_EQUAL(comm, MPI_COMM_NULL);
    MPI_Status statuses[2];
    MPI_Waitall(2, requests, statuses);
    CHECK_STATUS(statuses[0], peers.from, kTag, size);
    CHECK_CONTENTS(in, size, 41);
  }
}

/// A persistent request works on without its communicator.
MPI_CASE("communicators.freed-below-a-persistent-request") {
  const mpi_check::Peers peers = mpi_check::peers_of(1);
  MPI_Comm comm = dup(MPI_COMM_WORLD);
  int out = world_rank;
  int in = -1;
  MPI_Request requests[2];
  MPI_Recv_init(&in, 1, MPI_INT, peers.from, kTag, comm, &requests[0]);
  MPI_Send_init(&out, 1, MPI_INT, peers.to, kTag, comm, &requests[1]);
  MPI_Comm_free(&comm);
  for (int i = 0; i < 3; ++i) {
    in = -1;
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK_EQUAL(in, peers.from);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

/// Many communicators, one after the other: their contexts are used again.
MPI_CASE("communicators.many") {
  const int count = std::min(300, 800 / world_size);
  for (int i = 0; i < count; ++i) {
    MPI_Comm comm =
        i % 2 == 0 ? dup(MPI_COMM_WORLD) : split_reversed(MPI_COMM_WORLD);
    int size = 0;
    int rank = 0;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    int value = -1;
    MPI_Sendrecv(&i, 1, MPI_INT, (rank + 1) % size, kTag, &value, 1, MPI_INT,
                 (rank + size - 1) % size, kTag, comm, MPI_STATUS_IGNORE);
    CHECK_EQUAL(value, i);
    MPI_Comm_free(&comm);
  }
}

/// A rank that leaves a creation early may send before others have left.
MPI_CASE("communicators.sent-before-created") {
  for (int i = 0; i < 50; ++i) {
    MPI_Comm comm = dup(MPI_COMM_WORLD);
    for (int to = 0; to < world_size; ++to) {
      MPI_Request request;
      MPI_Isend(&world_rank, 1, MPI_INT, to, i, comm, &request);
      MPI_Request_free(&request);
    }
    for (int from = world_size - 1; from >= 0; --from) {
      int value = -1;
      MPI_Recv(&value, 1, MPI_INT, from, i, comm, MPI_STATUS_IGNORE);
      CHECK_EQUAL(value, from);
    }
    MPI_Comm_free(&comm);
  }
}

int copies = 0;
int deletions = 0;

int copy_attribute(
    MPI_Comm, int, void* extra, void* in, void* out, int* is_copied) {
  ++copies;
  *static_cast<void**>(out) = static_cast<char*>(in) + 1;
  *is_copied = *static_cast<int*>(extra);
  return MPI_SUCCESS;
}

int delete_attribute(MPI_Comm, int, void*, void*) {
  ++deletions;
  return MPI_SUCCESS;
}

/// Copy and delete functions are called as MPI says, and only for this key.
MPI_CASE("attributes.copied-and-deleted") {
  static char values[4];
  static int copies_them = 1;
  copies = 0;
  deletions = 0;
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, &copies_them);
  MPI_Comm first = dup(MPI_COMM_WORLD);
  MPI_Comm_set_attr(first, key, &values[0]);
  MPI_Comm second = dup(first);
  CHECK_EQUAL(copies, 1);
  void* value = nullptr;
  int is_set = 0;
  MPI_Comm_get_attr(second, key, static_cast<void*>(&value), &is_set);
  CHECK_EQUAL(is_set, 1);
  CHECK_EQUAL(value, static_cast<void*>(&values[1]));
  // A split does not copy attributes.
  MPI_Comm third = split_reversed(first);
  MPI_Comm_get_attr(third, key, static_cast<void*>(&value), &is_set);
  CHECK_EQUAL(is_set, 0);
  CHECK_EQUAL(copies, 1);
  copies_them = 0;
  MPI_Comm fourth = dup(first);
  MPI_Comm_get_attr(fourth, key, static_cast<void*>(&value), &is_set);
  CHECK_EQUAL(is_set, 0);
  copies_them = 1;
  talk(second, 3);
  MPI_Comm_set_attr(first, key, &values[2]);
  CHECK_EQUAL(deletions, 1);
  MPI_Comm_delete_attr(first, key);
  CHECK_EQUAL(deletions, 2);
  MPI_Comm_free(&second);
  CHECK_EQUAL(deletions, 3);
  MPI_Comm_free(&first);
  MPI_Comm_free(&third);
  MPI_Comm_free(&fourth);
  CHECK_EQUAL(deletions, 3);
  MPI_Comm_free_keyval(&key);
  CHECK_EQUAL(key, MPI_KEYVAL_INVALID);
}

/// Comparing, naming and groups work as without any messages.
MPI_CASE("attributes.compare-and-name") {
  MPI_Comm comm = dup(MPI_COMM_WORLD);
  int result = -1;
  MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
  CHECK_EQUAL(result, world_size > 0 ? MPI_CONGRUENT : MPI_IDENT);
  MPI_Comm_compare(comm, comm, &result);
  CHECK_EQUAL(result, MPI_IDENT);
  MPI_Comm_set_name(comm, "a name");
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  MPI_Comm_get_name(comm, name, &length);
  CHECK_EQUAL(std::string(name), "a name");
  CHECK_EQUAL(MPI_Comm_f2c(MPI_Comm_c2f(comm)), comm);
  MPI_Comm_free(&comm);
  MPI_Request request;
  MPI_Irecv(nullptr, 0, MPI_BYTE, 0, 88, MPI_COMM_WORLD, &request);
  CHECK_EQUAL(MPI_Request_f2c(MPI_Request_c2f(request)), request);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/// The class of the error of each function of point to point for these
/// arguments.
struct Arguments {
  int count, peer, tag;
  MPI_Datatype type;
};

int buffer_of_errors[4];

/// Calls every function that takes such arguments, and expects one class.
void expect_class(const Arguments& wrong, MPI_Comm comm, int expected) {
  int* const data = buffer_of_errors;
  MPI_Request request = MPI_REQUEST_NULL;
  using Send = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
  using Isend =
      int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  for (const Send send :
       {static_cast<Send>(MPI_Send), static_cast<Send>(MPI_Ssend),
        static_cast<Send>(MPI_Rsend)}) {
    CHECK_EQUAL(error_class(send(data, wrong.count, wrong.type, wrong.peer,
                                 wrong.tag, comm)),
                expected);
  }
  for (const Isend send :
       {static_cast<Isend>(MPI_Isend), static_cast<Isend>(MPI_Issend),
        static_cast<Isend>(MPI_Irsend), static_cast<Isend>(MPI_Send_init),
        static_cast<Isend>(MPI_Ssend_init),
        static_cast<Isend>(MPI_Rsend_init)}) {
    CHECK_EQUAL(error_class(send(data, wrong.count, wrong.type, wrong.peer,
                                 wrong.tag, comm, &request)),
                expected);
  }
  CHECK_EQUAL(error_class(MPI_Recv(data, wrong.count, wrong.type, wrong.peer,
                                   wrong.tag, comm, MPI_STATUS_IGNORE)),
              expected);
  CHECK_EQUAL(error_class(MPI_Irecv(data, wrong.count, wrong.type, wrong.peer,
                                    wrong.tag, comm, &request)),
              expected);
  CHECK_EQUAL(error_class(MPI_Recv_init(data, wrong.count, wrong.type,
                                        wrong.peer, wrong.tag, comm, &request)),
              expected);
  CHECK_EQUAL(
      error_class(MPI_Sendrecv(data, wrong.count, wrong.type, wrong.peer,
                               wrong.tag, data + 2, 1, MPI_INT, MPI_PROC_NULL,
                               1, comm, MPI_STATUS_IGNORE)),
      expected);
}

/// Calls all probes with a wrong rank or tag.
void expect_probe_class(int peer, int tag, MPI_Comm comm, int expected) {
  int flag = 0;
  MPI_Message message;
  CHECK_EQUAL(error_class(MPI_Probe(peer, tag, comm, MPI_STATUS_IGNORE)),
              expected);
  CHECK_EQUAL(
      error_class(MPI_Iprobe(peer, tag, comm, &flag, MPI_STATUS_IGNORE)),
      expected);
  CHECK_EQUAL(
      error_class(MPI_Mprobe(peer, tag, comm, &message, MPI_STATUS_IGNORE)),
      expected);
  CHECK_EQUAL(error_class(MPI_Improbe(peer, tag, comm, &flag, &message,
                                      MPI_STATUS_IGNORE)),
              expected);
}

MPI_CASE("errors.classes") {
  MPI_Comm comm = dup(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  expect_class({1, world_size, 1, MPI_INT}, comm, MPI_ERR_RANK);
  expect_class({1, -77, 1, MPI_INT}, comm, MPI_ERR_RANK);
  expect_class({-1, 0, 1, MPI_INT}, comm, MPI_ERR_COUNT);
  expect_class({1, 0, -77, MPI_INT}, comm, MPI_ERR_TAG);
  expect_class({1, 0, 1, MPI_DATATYPE_NULL}, comm, MPI_ERR_TYPE);
  expect_probe_class(world_size, 1, comm, MPI_ERR_RANK);
  expect_probe_class(-77, 1, comm, MPI_ERR_RANK);
  expect_probe_class(0, -77, comm, MPI_ERR_TAG);
  // Wildcards are no destination and no tag of a send.
  CHECK_EQUAL(error_class(MPI_Send(buffer_of_errors, 1, MPI_INT, MPI_ANY_SOURCE,
                                   1, comm)),
              MPI_ERR_RANK);
  CHECK_EQUAL(
      error_class(MPI_Send(buffer_of_errors, 1, MPI_INT, 0, MPI_ANY_TAG, comm)),
      MPI_ERR_TAG);
  // The receive of an exchange whose send fails is posted no longer.
  int in = -1;
  const int self = world_rank;
  CHECK_EQUAL(
      error_class(MPI_Sendrecv(buffer_of_errors, 1, MPI_INT, world_size, 1, &in,
                               1, MPI_INT, self, 1, comm, MPI_STATUS_IGNORE)),
      MPI_ERR_RANK);
  MPI_Request sent = MPI_REQUEST_NULL;
  MPI_Isend(&self, 1, MPI_INT, self, 1, comm, &sent);
  int got = -1;
  MPI_Recv(&got, 1, MPI_INT, self, 1, comm, MPI_STATUS_IGNORE);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  CHECK_EQUAL(in, -1);
  CHECK_EQUAL(got, self);
  // None of these errors disturbs correct messages.
  talk(comm, 4);
  MPI_Comm_free(&comm);
}

MPI_CASE("errors.no-memory-of-a-message") {
  MPI_Comm comm = dup(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int self = mpi_check::world_rank;
  CHECK_EQUAL(error_class(MPI_Send(nullptr, 5, MPI_INT, self, 1, comm)),
              MPI_ERR_BUFFER);
  CHECK_EQUAL(error_class(MPI_Recv(nullptr, 5, MPI_INT, self, 1, comm,
                                   MPI_STATUS_IGNORE)),
              MPI_ERR_BUFFER);
  talk(comm, 4);
  MPI_Comm_free(&comm);
}

/// Errors without a communicator go to the handler of the world.
MPI_CASE("errors.without-communicator") {
  MPI_Errhandler before;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK_EQUAL(
      error_class(MPI_Send(buffer_of_errors, 1, MPI_INT, 0, 1, MPI_COMM_NULL)),
      MPI_ERR_COMM);
  CHECK_EQUAL(error_class(MPI_Recv(buffer_of_errors, 1, MPI_INT, 0, 1,
                                   MPI_COMM_NULL, MPI_STATUS_IGNORE)),
              MPI_ERR_COMM);
  // Neither is a communicator that was made last.
  MPI_Comm made = dup(MPI_COMM_WORLD);
  CHECK_EQUAL(
      error_class(MPI_Send(buffer_of_errors, 1, MPI_INT, 0, 1, MPI_COMM_NULL)),
      MPI_ERR_COMM);
  MPI_Comm_free(&made);
  MPI_Request null = MPI_REQUEST_NULL;
  CHECK_EQUAL(error_class(MPI_Start(&null)), MPI_ERR_REQUEST);
  CHECK_EQUAL(error_class(MPI_Cancel(&null)), MPI_ERR_REQUEST);
  CHECK_EQUAL(error_class(MPI_Request_free(&null)), MPI_ERR_REQUEST);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&before);
}

/// A buffered send that finds no room fails, and a later one that fits works.
MPI_CASE("errors.no-buffer") {
  const mpi_check::Peers peers = mpi_check::peers_of(1);
  MPI_Comm comm = dup(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  // A library may send a message below its eager limit without the buffer.
  constexpr int kTooMany = 300'000;
  const auto data = contents_of(kTooMany, 42);
  std::vector<std::byte> memory(1000 + MPI_BSEND_OVERHEAD);
  MPI_Buffer_attach(memory.data(), static_cast<int>(memory.size()));
  CHECK_EQUAL(error_class(MPI_Bsend(data.data(), kTooMany, MPI_BYTE, peers.to,
                                    1, comm)),
              MPI_ERR_BUFFER);
  // In Open MPI 4.1.4, messages behind a buffered send that failed do not
  // arrive: the failed one has used a sequence number.
  if (mpi_check::trusts(mpi_check::kIsOpenMpi)) {
    CHECK_EQUAL(MPI_Bsend(data.data(), 900, MPI_BYTE, peers.to, 1, comm),
                MPI_SUCCESS);
    GuardedBuffer in(900);
    MPI_Recv(in.data(), 900, MPI_BYTE, peers.from, 1, comm, MPI_STATUS_IGNORE);
    CHECK_CONTENTS(in, 900, 42);
  }
  void* detached = nullptr;
  int bytes = 0;
  MPI_Buffer_detach(static_cast<void*>(&detached), &bytes);
  MPI_Comm_free(&comm);
}

int handler_calls = 0;
MPI_Comm handler_comm = MPI_COMM_NULL;
int handler_class = MPI_SUCCESS;

void on_error(MPI_Comm* comm, int* code, ...) {
  ++handler_calls;
  handler_comm = *comm;
  handler_class = error_class(*code);
}

/// The program's own handler gets its communicator and the class. It is
/// inherited by a copy.
MPI_CASE("errors.own-handler") {
  MPI_Comm comm = dup(MPI_COMM_WORLD);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Errhandler_free(&handler);
  MPI_Comm copy = dup(comm);
  handler_calls = 0;
  int expected_calls = 0;
  for (MPI_Comm each : {comm, copy}) {
    MPI_Send(buffer_of_errors, 1, MPI_INT, world_size, 1, each);
    CHECK_EQUAL(handler_calls, ++expected_calls);
    CHECK_EQUAL(handler_comm, each);
    CHECK_EQUAL(handler_class, MPI_ERR_RANK);
    // The handler is called for a truncated message, too.
    const int two[2] = {1, 2};
    int one = 0;
    MPI_Request request;
    MPI_Isend(two, 2, MPI_INT, world_rank, 1, each, &request);
    MPI_Recv(&one, 1, MPI_INT, world_rank, 1, each, MPI_STATUS_IGNORE);
    CHECK_EQUAL(handler_calls, ++expected_calls);
    CHECK_EQUAL(handler_comm, each);
    CHECK_EQUAL(handler_class, MPI_ERR_TRUNCATE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Comm_free(&copy);
  MPI_Comm_free(&comm);
}

}  // namespace
