// An index of an extreme on the host: one pass, which keeps the indices that may be right beside the best.
#include <algorithm>
#include <vector>

template <class T>
class ArgExtreme {
 public:
  explicit ArgExtreme(int sign) : leader(sign) {}
  template <class Term>
  void add(int64_t index, Term term) {
    const Ranged<T> t = ranged(term);
    leader.add(index, t);
    const Reach reach = {index, leader.upper(t)};
    if (leader.nan || !leader.reaches(reach.index, reach.up)) return;
    reaching.push_back(reach);
    if (reaching.size() > room) prune(), room = 2 * reaching.size() + 64;
  }
  IV result(double) {
    prune();
    others.clear();
    int64_t farthest = 0;
    for (const Reach& c : reaching) {
      if (!leader.is_also_right(c.index, c.up)) continue;
      others.push_back(c.index);
      farthest = cg_imax(farthest, leader.apart_from(c.index));
    }
    std::sort(others.begin(), others.end());
    return leader.result(farthest);
  }
  const std::vector<int64_t>& also() const { return others; }

 private:
  struct Reach {
    int64_t index;
    T up;
  };
  Leader<T> leader;
  size_t room = 64;
  std::vector<Reach> reaching;
  std::vector<int64_t> others;

  void prune() {
    const auto lost = [this](const Reach& c) { return !leader.reaches(c.index, c.up); };
    reaching.erase(std::remove_if(reaching.begin(), reaching.end(), lost), reaching.end());
  }
};
