/* Loads libraries into the running program, as an interpreter does, and calls
 * acp_init and acp_finalize: usage late_load LIBRARY... */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* library = NULL;
  for (int i = 1; i < argc; ++i) {
    library = dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
  }
  int (*init)(int*, char***) =
      (int (*)(int*, char***))dlsym(RTLD_DEFAULT, "acp_init");
  int (*finalize)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "acp_finalize");
  argc = 1;
  return init == NULL || finalize == NULL || init(&argc, &argv) != 0 ||
         finalize() != 0;
}
