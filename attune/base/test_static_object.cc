// A library that constructs a static object when it is called. The object's destructor ends the
// process with 3.
#include <unistd.h>

namespace {

struct EndsTheProcess {
  ~EndsTheProcess() { ::_exit(3); }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) void attune_test_construct() {
  static const EndsTheProcess object;
  static_cast<void>(object);
}
