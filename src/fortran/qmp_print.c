/* The printing functions of qmp.h with one text, for module qmp. Called by
 * qmp_output.f90 only: Fortran cannot call a function with a variable number of
 * arguments. */
#include <qmp.h>

int qmp_fortran_printf(const char* text);
int qmp_fortran_info(const char* text);
int qmp_fortran_error(const char* text);

int qmp_fortran_printf(const char* text) {
  return QMP_printf("%s", text);
}

int qmp_fortran_info(const char* text) {
  return QMP_info("%s", text);
}

int qmp_fortran_error(const char* text) {
  return QMP_error("%s", text);
}
