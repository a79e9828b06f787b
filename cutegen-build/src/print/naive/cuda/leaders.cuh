// Where the largest or smallest value lies, as a loop finds it: the first NaN if there is one, the lowest index of equals.
template <class T>
struct cg_leader { T best; int64_t at; bool any; };
template <bool LARGEST, class T>
CG_FN cg_leader<T> cg_better(cg_leader<T> a, cg_leader<T> b) {
  if (!a.any || !b.any) return a.any ? a : b;
  const bool nan_a = a.best != a.best, nan_b = b.best != b.best;
  if (nan_a != nan_b) return nan_a ? a : b;
  if (nan_a || a.best == b.best) return a.at < b.at ? a : b;
  return (LARGEST ? a.best > b.best : a.best < b.best) ? a : b;
}
