// sweep.hpp: the list of points that the parts of the sweep fill.
#pragma once
#include "host.hpp"
struct Args {
  void *x, *w, *y, *work;
  int* count;
  int m, n, k, splits;
};
struct Entry {
  char const* kind;
  std::string name;
  int bw, bt, bk, smem;
  void (*run)(Args const&);
};
inline std::vector<Entry>& entries() {
  static std::vector<Entry> all;
  return all;
}
