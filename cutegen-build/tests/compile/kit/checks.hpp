// Counts checks, and says which are wrong; behind the fifth nothing more is looked at.
#include <cstdio>
#include <cstdlib>
#include <string>

static int checks, wrong;
static void check(bool is_right, std::string const& what) {
  ++checks;
  if (is_right) return;
  std::printf("wrong: %s\n", what.c_str());
  if (++wrong < 5) return;
  std::fflush(stdout);
  std::_Exit(3);  // not through destructors: it may run on a stack that they free
}
