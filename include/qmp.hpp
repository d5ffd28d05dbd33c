// QMP for C++: the functions and objects of the QMP 2.0 text, over qmp.h, which
// says what each of them does. Header only; C++17 or later.
//
// Objects own what they declare and free it; they can be moved, not copied.
// Nothing throws: a declaration that fails leaves an empty object, and
// getErrorNumber() and getErrorString() say why. Operations may be destroyed
// before or after the memories that they use. Objects may outlive finalize(),
// which ends what they hold: their destructors then do nothing.
//
// docs/qmp.md lists each difference from the text.
#ifndef QMP_HPP
#define QMP_HPP

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <qmp.h>

namespace QMP {

/// The direction of a neighbour along an axis.
enum SIGN { PLUS = 1, MINUS = -1 };

inline constexpr int DEFAULT_PRIORITY = 0;

/// A node by its number, for declarations that also name a priority.
struct Node {
  explicit constexpr Node(int value) : number(value) {}

  int number;
};

/// The result of a function that the text declares as QMP_bool_t, and that
/// returns a QMP_status_t in C. In a condition it is true on success; elsewhere
/// it is the status code. Each of these lines is right:
///
///     if (!QMP::layoutGrid(lattice, 4)) ...
///     if (QMP::layoutGrid(lattice, 4) != QMP_SUCCESS) ...
///     QMP_status_t status = QMP::layoutGrid(lattice, 4);
///     bool is_divided{QMP::layoutGrid(lattice, 4)};
///
/// It does not become a bool or a number by itself, because true and
/// QMP_SUCCESS are opposite numbers.
class Result {
 public:
  constexpr Result(QMP_status_t status) : status_(status) {}

  explicit constexpr operator bool() const { return status_ == QMP_SUCCESS; }

  constexpr operator QMP_status_t() const { return status_; }

  /// Deleted: otherwise the status code would become a number, or a bool that
  /// is false on success.
  template <typename Number,
            typename = std::enable_if_t<std::is_arithmetic_v<Number>>>
  operator Number() const = delete;

  friend constexpr bool operator==(Result result, QMP_status_t status) {
    return result.status_ == status;
  }

  friend constexpr bool operator!=(Result result, QMP_status_t status) {
    return result.status_ != status;
  }

  friend constexpr bool operator==(QMP_status_t status, Result result) {
    return result.status_ == status;
  }

  friend constexpr bool operator!=(QMP_status_t status, Result result) {
    return result.status_ != status;
  }

 private:
  QMP_status_t status_;
};

// ---- Machine, topology, lattice ---------------------------------------------

inline QMP_status_t initialize(int* argc,
                               char*** argv,
                               QMP_thread_level_t required,
                               QMP_thread_level_t* provided) {
  return QMP_init_msg_passing(argc, argv, required, provided);
}

inline bool isInitialized() {
  return QMP_is_initialized() != QMP_FALSE;
}

inline void finalize() {
  QMP_finalize_msg_passing();
}

inline QMP_ictype_t getMsgPassingType() {
  return QMP_get_msg_passing_type();
}

inline int getNumberOfNodes() {
  return QMP_get_number_of_nodes();
}

inline int getNodeNumber() {
  return QMP_get_node_number();
}

inline bool isPrimaryNode() {
  return QMP_is_primary_node() != QMP_FALSE;
}

inline int getAllocatedNumberOfDimensions() {
  return QMP_get_allocated_number_of_dimensions();
}

inline const int* getAllocatedDimensions() {
  return QMP_get_allocated_dimensions();
}

inline const int* getAllocatedCoordinates() {
  return QMP_get_allocated_coordinates();
}

inline Result declareLogicalTopology(const int* dims, int ndim) {
  return QMP_declare_logical_topology(dims, ndim);
}

inline bool logicalTopologyIsDeclared() {
  return QMP_logical_topology_is_declared() != QMP_FALSE;
}

inline int getLogicalNumberOfDimensions() {
  return QMP_get_logical_number_of_dimensions();
}

inline const int* getLogicalDimensions() {
  return QMP_get_logical_dimensions();
}

inline const int* getLogicalCoordinates() {
  return QMP_get_logical_coordinates();
}

inline int getNodeNumberFrom(const int* coordinates) {
  return QMP_get_node_number_from(coordinates);
}

/// Empty where the C function fails.
inline std::vector<int> getLogicalCoordinatesFrom(int node) {
  if (!(node >= 0 && node < getNumberOfNodes())) {
    return {};
  }
  const int axes = getLogicalNumberOfDimensions();
  std::vector<int> coordinates(static_cast<std::size_t>(axes));
  if (axes > 0) {
    QMP_get_logical_coordinates_from2(coordinates.data(), node);
  }
  return coordinates;
}

inline Result layoutGrid(const int* lattice, int ndims) {
  return QMP_layout_grid(lattice, ndims);
}

inline const int* getSubgridDimensions() {
  return QMP_get_subgrid_dimensions();
}

inline int getNumberOfSubgridSites() {
  return QMP_get_number_of_subgrid_sites();
}

// ---- Errors and output ------------------------------------------------------

inline int verbose(int level) {
  return QMP_verbose(level);
}

inline int profcontrol(int level) {
  return QMP_profcontrol(level);
}

namespace detail {

inline std::string format(const char* text, std::va_list words) {
  std::va_list again;
  va_copy(again, words);
  const int length = std::vsnprintf(nullptr, 0, text, again);
  va_end(again);
  std::string result(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
  if (length > 0) {
    (void)std::vsnprintf(&result[0], result.size() + 1, text, words);
  }
  return result;
}

}  // namespace detail

inline int printf(const char* format, ...) {
  std::va_list words;
  va_start(words, format);
  const std::string text = detail::format(format, words);
  va_end(words);
  return QMP_printf("%s", text.c_str());
}

inline int fprintf(FILE* stream, const char* format, ...) {
  std::va_list words;
  va_start(words, format);
  const std::string text = detail::format(format, words);
  va_end(words);
  return QMP_fprintf(stream, "%s", text.c_str());
}

inline int info(const char* format, ...) {
  std::va_list words;
  va_start(words, format);
  const std::string text = detail::format(format, words);
  va_end(words);
  return QMP_info("%s", text.c_str());
}

inline int error(const char* format, ...) {
  std::va_list words;
  va_start(words, format);
  const std::string text = detail::format(format, words);
  va_end(words);
  return QMP_error("%s", text.c_str());
}

/// Does not return.
inline void abort(int code = 1) {
  QMP_abort(code);
}

inline const char* errorString(QMP_status_t code) {
  return QMP_error_string(code);
}

// ---- Memory -----------------------------------------------------------------

namespace detail {

/// Frees an object of qmp.h. After finalize() there is nothing to free, and the
/// C function would report a call out of place.
template <typename Object>
void free_object(void (*free_function)(Object), Object object) {
  if (object != nullptr && isInitialized()) {
    free_function(object);
  }
}

}  // namespace detail

/// Memory of QMP_allocate_aligned_memory.
class AlignedMemory {
 public:
  AlignedMemory() = default;

  explicit AlignedMemory(std::size_t nbytes,
                         std::size_t alignment = sizeof(std::ptrdiff_t*),
                         int flags = QMP_MEM_DEFAULT)
      : memory_(QMP_allocate_aligned_memory(nbytes, alignment, flags)),
        bytes_(memory_ != nullptr ? nbytes : 0) {}

  AlignedMemory(AlignedMemory&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}

  AlignedMemory& operator=(AlignedMemory&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  ~AlignedMemory() { detail::free_object(&QMP_free_memory, memory_); }

  /// Null when empty.
  void* getBuffer() const { return QMP_get_memory_pointer(memory_); }

  std::size_t size() const { return bytes_; }

  explicit operator bool() const { return memory_ != nullptr; }

 private:
  QMP_mem_t* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The blocks of memory that make a message. The memory stays its owner's.
class MessageMemory {
 public:
  MessageMemory() = default;

  /// All bytes of an aligned memory.
  explicit MessageMemory(const AlignedMemory& memory)
      : memory_(QMP_declare_msgmem(memory.getBuffer(), memory.size())) {}

  explicit MessageMemory(const void* buffer,
                         std::size_t blksize,
                         int nblocks = 1,
                         std::ptrdiff_t stride = 0) {
    init(buffer, blksize, nblocks, stride);
  }

  /// `n` strided memories, one after the other.
  MessageMemory(const void* const* buffer,
                std::size_t* blksize,
                int* nblocks,
                std::ptrdiff_t* stride,
                int n)
      : memory_(QMP_declare_strided_array_msgmem(
            const_cast<void**>(buffer), blksize, nblocks, stride, n)) {}

  MessageMemory(MessageMemory&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)) {}

  MessageMemory& operator=(MessageMemory&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }

  ~MessageMemory() { detail::free_object(&QMP_free_msgmem, memory_); }

  /// Replaces the description.
  void init(const void* buffer,
            std::size_t blksize,
            int nblocks = 1,
            std::ptrdiff_t stride = 0) {
    detail::free_object(&QMP_free_msgmem, memory_);
    memory_ = QMP_declare_strided_msgmem(const_cast<void*>(buffer), blksize,
                                         nblocks, stride);
  }

  QMP_msgmem_t get() const { return memory_; }

  explicit operator bool() const { return memory_ != nullptr; }

 private:
  QMP_msgmem_t memory_ = nullptr;
};

namespace detail {

/// A parameter that takes a message memory or, as in the text, a pointer to it.
/// Null stands for an empty one.
class MemoryArgument {
 public:
  MemoryArgument(const MessageMemory& memory) : memory_(memory.get()) {}

  MemoryArgument(const MessageMemory* memory)
      : memory_(memory != nullptr ? memory->get() : nullptr) {}

  QMP_msgmem_t get() const { return memory_; }

 private:
  QMP_msgmem_t memory_;
};

}  // namespace detail

// ---- Operations -------------------------------------------------------------

/// An operation that is started and waited for. Start and wait of an empty one
/// fail.
class MessageOperation {
 public:
  MessageOperation(const MessageOperation&) = delete;
  MessageOperation& operator=(const MessageOperation&) = delete;

  virtual ~MessageOperation() {
    detail::free_object(&QMP_free_msghandle, handle_);
  }

  virtual QMP_status_t start() { return QMP_start(handle_); }

  virtual bool isComplete() { return QMP_is_complete(handle_) != QMP_FALSE; }

  virtual QMP_status_t wait() { return QMP_wait(handle_); }

  /// The last failure of this operation; of the calling thread when it is
  /// empty.
  virtual QMP_status_t getErrorNumber() const {
    return QMP_get_error_number(handle_);
  }

  virtual const char* getErrorString() const {
    return QMP_get_error_string(handle_);
  }

  /// Waits for `n` operations; the first failure, if any.
  static QMP_status_t waitAll(MessageOperation* const* operations, int n) {
    QMP_status_t result = QMP_SUCCESS;
    for (int i = 0; i < n; ++i) {
      const QMP_status_t status = operations[i]->wait();
      result = result == QMP_SUCCESS ? status : result;
    }
    return result;
  }

  QMP_msghandle_t get() const { return handle_; }

  /// Gives the handle away.
  QMP_msghandle_t release() { return std::exchange(handle_, nullptr); }

  explicit operator bool() const { return handle_ != nullptr; }

 protected:
  MessageOperation() = default;

  MessageOperation(MessageOperation&& other) noexcept
      : handle_(other.release()) {}

  MessageOperation& operator=(MessageOperation&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  QMP_status_t take(QMP_msghandle_t handle) {
    detail::free_object(&QMP_free_msghandle, handle_);
    handle_ = handle;
    return handle != nullptr ? QMP_SUCCESS : QMP_get_error_number(nullptr);
  }

 private:
  QMP_msghandle_t handle_ = nullptr;
};

/// One message with a neighbour or a node. Declaring again replaces it.
///
/// Two numbers behind the memory are always an axis and a sign. The text also
/// lets them be a node and a priority, which no compiler can tell from the
/// former: such a call names the node as QMP::Node.
class SingleOperation : public MessageOperation {
 public:
  SingleOperation() = default;
  SingleOperation(SingleOperation&&) noexcept = default;
  SingleOperation& operator=(SingleOperation&&) noexcept = default;

  /// Declares a send to the neighbour along an axis of the topology.
  ///
  /// @param sign  PLUS or MINUS, 1 or -1
  QMP_status_t declareSend(const detail::MemoryArgument& memory,
                           int dimension,
                           int sign,
                           int priority = DEFAULT_PRIORITY) {
    return take(
        QMP_declare_send_relative(memory.get(), dimension, sign, priority));
  }

  /// Declares a send to a node.
  QMP_status_t declareSend(const detail::MemoryArgument& memory,
                           Node remoteHost,
                           int priority = DEFAULT_PRIORITY) {
    return take(QMP_declare_send_to(memory.get(), remoteHost.number, priority));
  }

  /// Declares a send to a node, without a priority.
  QMP_status_t declareSend(const detail::MemoryArgument& memory,
                           int remoteHost) {
    return declareSend(memory, Node(remoteHost));
  }

  /// Declares a receive from the neighbour along an axis of the topology.
  ///
  /// @param sign  PLUS or MINUS, 1 or -1
  QMP_status_t declareReceive(const detail::MemoryArgument& memory,
                              int dimension,
                              int sign,
                              int priority = DEFAULT_PRIORITY) {
    return take(
        QMP_declare_receive_relative(memory.get(), dimension, sign, priority));
  }

  /// Declares a receive from a node.
  QMP_status_t declareReceive(const detail::MemoryArgument& memory,
                              Node remoteHost,
                              int priority = DEFAULT_PRIORITY) {
    return take(
        QMP_declare_receive_from(memory.get(), remoteHost.number, priority));
  }

  /// Declares a receive from a node, without a priority.
  QMP_status_t declareReceive(const detail::MemoryArgument& memory,
                              int remoteHost) {
    return declareReceive(memory, Node(remoteHost));
  }
};

/// Several operations, started in their order. It takes them over, and leaves
/// them empty.
class MultiOperation : public MessageOperation {
 public:
  MultiOperation() = default;
  MultiOperation(MultiOperation&&) noexcept = default;
  MultiOperation& operator=(MultiOperation&&) noexcept = default;

  MultiOperation(SingleOperation* operations, int n) {
    (void)init(operations, n);
  }

  MultiOperation(SingleOperation** operations, int n) {
    (void)init(operations, n);
  }

  QMP_status_t init(SingleOperation* operations, int n) {
    std::vector<SingleOperation*> all;
    for (int i = 0; i < n; ++i) {
      all.push_back(operations + i);
    }
    return init(all.data(), n);
  }

  /// On a failure the operations are as before.
  QMP_status_t init(SingleOperation** operations, int n) {
    std::vector<QMP_msghandle_t> handles;
    for (int i = 0; i < n; ++i) {
      handles.push_back(operations[i]->get());
    }
    const QMP_status_t status = take(QMP_declare_multiple(handles.data(), n));
    for (int i = 0; i < n && status == QMP_SUCCESS; ++i) {
      (void)operations[i]->release();
    }
    return status;
  }
};

// ---- Global operations ------------------------------------------------------

inline QMP_status_t sumInt(int* value) {
  return QMP_sum_int(value);
}

inline QMP_status_t sumFloat(float* value) {
  return QMP_sum_float(value);
}

inline QMP_status_t sumDouble(double* value) {
  return QMP_sum_double(value);
}

inline QMP_status_t sumDoubleExtended(double* value) {
  return QMP_sum_double_extended(value);
}

inline QMP_status_t sumFloatArray(float* values, int length) {
  return QMP_sum_float_array(values, length);
}

inline QMP_status_t sumDoubleArray(double* values, int length) {
  return QMP_sum_double_array(values, length);
}

inline QMP_status_t maxInt(int* value) {
  return QMP_max_int(value);
}

inline QMP_status_t maxFloat(float* value) {
  return QMP_max_float(value);
}

inline QMP_status_t maxDouble(double* value) {
  return QMP_max_double(value);
}

inline QMP_status_t minInt(int* value) {
  return QMP_min_int(value);
}

inline QMP_status_t minFloat(float* value) {
  return QMP_min_float(value);
}

inline QMP_status_t minDouble(double* value) {
  return QMP_min_double(value);
}

inline QMP_status_t xorUlong(unsigned long* value) {
  return QMP_xor_ulong(value);
}

inline QMP_status_t binaryReduction(void* localvalue,
                                    std::size_t nbytes,
                                    QMP_binary_func function) {
  return QMP_binary_reduction(localvalue, nbytes, function);
}

inline QMP_status_t broadcast(void* buffer, std::size_t nbytes) {
  return QMP_broadcast(buffer, nbytes);
}

inline QMP_status_t barrier() {
  return QMP_barrier();
}

}  // namespace QMP

#endif  // QMP_HPP
