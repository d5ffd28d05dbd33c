// A module without a function that it needs, for module_test.cc.
#include "settings/module.h"

extern "C" void function_of_a_missing_library();

ACP_MODULE(function_of_a_missing_library);
