// The time that the program has spent in QMP, for QMP_profcontrol and
// QMP_get_total_qmp_time. Any thread.
#pragma once

namespace qmp {

void set_profiling(bool is_on);
double profiled_seconds();
void reset_profiled_seconds();

/// Adds its lifetime to the total while profiling is on.
class Timed {
 public:
  Timed();
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  ~Timed();

 private:
  double start_;
};

}  // namespace qmp
