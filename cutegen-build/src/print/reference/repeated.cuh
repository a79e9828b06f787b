// An index of an extreme on a device: every term a second time, which finds the indices that may be right beside the
// best without keeping any.
template <class T>
struct ArgExtreme {
  Leader<T> leader;
  int64_t farthest = 0;
  explicit ArgExtreme(int sign) : leader(sign) {}
  template <class Term>
  void add(int64_t index, Term term) { leader.add(index, ranged(term)); }
  template <class Term>
  bool again(int64_t index, Term term) {
    const bool is_also_right = leader.is_also_right(index, leader.upper(ranged(term)));
    if (is_also_right) farthest = cg_imax(farthest, leader.apart_from(index));
    return is_also_right;
  }
  IV result(double) const { return leader.result(farthest); }
};

// A value that is as right as the first, for one element of a result. `others[0].tensor` counts them, those that no
// longer found a place too.
struct Other {
  int64_t tensor, element;
  double value;
};
static inline void hand_over(Other* others, int64_t tensor, int64_t element, double value) {
  const int64_t place = int64_t(atomicAdd(reinterpret_cast<unsigned long long*>(&others->tensor), 1ull)) + 1;
  if (place <= OTHERS_MAX) others[place] = Other{tensor, element, value};
}
