// QCDSP communications: directions, axes, sends and receives. For C++.
//
// A program that defines SCU_PLUS_FIRST in all of its files gets the order of
// directions that later codes used. In it +t is 0, -t is 1, and so on.
#ifndef SCU_ENUM_H
#define SCU_ENUM_H

/// A direction of the four-dimensional torus.
enum SCUDir {
  SCU_NoDir = -1,
#ifdef SCU_PLUS_FIRST
  SCU_TP = 0,
  SCU_TM = 1,
  SCU_XP = 2,
  SCU_XM = 3,
  SCU_YP = 4,
  SCU_YM = 5,
  SCU_ZP = 6,
  SCU_ZM = 7
#else
  SCU_TM = 0,
  SCU_TP = 1,
  SCU_XM = 2,
  SCU_XP = 3,
  SCU_YM = 4,
  SCU_YP = 5,
  SCU_ZM = 6,
  SCU_ZP = 7
#endif
};

/// An axis of that torus.
enum SCUAxis { SCU_NoAxis = -1, SCU_T = 0, SCU_X = 1, SCU_Y = 2, SCU_Z = 3 };

/// Whether a transfer receives or sends.
enum SCUXR { SCU_NoXR = -1, SCU_REC = 0, SCU_SEND = 8 };

#endif  // SCU_ENUM_H
