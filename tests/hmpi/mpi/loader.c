/* loader: a program that is not linked with MPI, as an interpreter is. It loads
 * a library that uses MPI, and calls the function "main" of it.
 *
 *   loader LIBRARY [ARGUMENT...] */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* library = argc < 2 ? NULL : dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  int (*run)(int, char**) = NULL;
  if (library != NULL) {
    *(void**)&run = dlsym(library, "main");
  }
  if (run == NULL) {
    fprintf(stderr, "loader: %s\n", argc < 2 ? "no library" : dlerror());
    return 2;
  }
  return run(argc - 1, argv + 1);
}
