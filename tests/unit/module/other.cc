// A shared object that is no module of ACP, for module_test.cc.
extern "C" __attribute__((visibility("default"))) int other_function() {
  return 1;
}
