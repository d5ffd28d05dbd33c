// QCDSP communications: a send or a receive, its memory and its direction. For
// C++. docs/compat.md.
#ifndef SCU_DIR_ARG_H
#define SCU_DIR_ARG_H

#include "scu_enum.h"

/// Bytes of an element, unless SetDataSize says otherwise. A program that
/// defines it defines one value for all of its files.
#ifndef COMMS_DATASIZE
#define COMMS_DATASIZE 4
#endif

// Programs expect these names. A file that has them already keeps its own.
#if !defined(FALSE) && !defined(TRUE)
enum { FALSE, TRUE };
#endif

/// One transfer: `numblk` blocks of `blklen` elements. Block i begins i *
/// (blklen + stride - 1) elements behind the address: `stride` counts the
/// elements from the last one of a block to the first one of the next.
///
/// A plain value; the memory stays that of the program. Setters return the
/// value before. The values are checked when a transfer starts; a wrong one
/// ends the job with a message.
class SCUDirArg {
 public:
  SCUDirArg() {}

  SCUDirArg(void* addr,
            SCUDir dir,
            SCUXR xr,
            int blklen,
            int numblk = 1,
            int stride = 1) {
    Init(addr, dir, xr, blklen, numblk, stride);
  }

  /// Sets everything but the size of an element.
  void Init(void* addr,
            SCUDir dir,
            SCUXR xr,
            int blklen,
            int numblk = 1,
            int stride = 1) {
    addr_ = addr;
    CommDir(dir);
    xr_ = xr;
    Reload(addr, blklen, numblk, stride);
  }

  /// Sets address and shape.
  void Reload(void* addr, int blklen, int numblk = 1, int stride = 1) {
    addr_ = addr;
    blklen_ = blklen;
    numblk_ = numblk;
    stride_ = stride;
  }

  void* Addr() const { return addr_; }

  void* Addr(void* addr) {
    void* before = addr_;
    addr_ = addr;
    return before;
  }

  int Blklen() const { return blklen_; }

  int Blklen(int blklen) {
    const int before = blklen_;
    blklen_ = blklen;
    return before;
  }

  int Numblk() const { return numblk_; }

  int Numblk(int numblk) {
    const int before = numblk_;
    numblk_ = numblk;
    return before;
  }

  int Stride() const { return stride_; }

  int Stride(int stride) {
    const int before = stride_;
    stride_ = stride;
    return before;
  }

  SCUDir CommDir() const { return dir_; }

  SCUDir CommDir(SCUDir dir) {
    const SCUDir before = dir_;
    dir_ = dir;
    // Axis and sign are kept because the library does not know which order of
    // directions the program uses.
    axis_ = dir < 0 ? -1 : dir / 2;
    sign_ = dir == SCU_TP || dir == SCU_XP || dir == SCU_YP || dir == SCU_ZP
                ? 1
                : -1;
    return before;
  }

  SCUXR CommType() const { return xr_; }

  SCUXR CommType(SCUXR xr) {
    const SCUXR before = xr_;
    xr_ = xr;
    return before;
  }

  /// Bytes of an element. Init does not change it.
  int DataSize() const { return datasize_; }

  int SetDataSize(int bytes) {
    const int before = datasize_;
    datasize_ = bytes;
    return before;
  }

  /// The direction on the torus: axis 0 to 3 for t, x, y, z, or -1 for none;
  /// sign 1 or -1.
  int Axis() const { return axis_; }

  int Sign() const { return sign_; }

 private:
  void* addr_ = 0;
  SCUDir dir_ = SCU_NoDir;
  SCUXR xr_ = SCU_NoXR;
  int axis_ = -1;
  int sign_ = -1;
  int blklen_ = 0;
  int numblk_ = 1;
  int stride_ = 1;
  int datasize_ = COMMS_DATASIZE;
};

#endif  // SCU_DIR_ARG_H
