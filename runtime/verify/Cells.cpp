//===-- Cells.cpp - the parts of a buffer that its views tell apart -----------------------------------------------===//

#include "runtime/verify/Cells.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace shardc::rt::verify {
namespace {

constexpr int64_t kMaxCells = 1 << 14;
constexpr int64_t kMaxListed = 1 << 22; // cells in the lists of all views of a buffer

bool isContiguous(const View &view) { return view.dims.empty() || (view.dims.size() == 1 && view.dims[0].stride == 1); }

/// Numbers the cells that occur in any view, in ascending order, and drops the others.
void renumber(Cells &cells) {
  std::map<int, int> numbers;
  for (std::vector<int> &list : cells.ofView)
    for (int cell : list)
      numbers.emplace(cell, 0);
  cells.count = 0;
  for (auto &[cell, number] : numbers)
    number = cells.count++;
  for (std::vector<int> &list : cells.ofView)
    for (int &cell : list)
      cell = numbers[cell];
}

bool divideIntervals(const std::vector<View> &views, Cells &cells) {
  std::vector<int64_t> ends;
  for (const View &view : views) {
    if (!isContiguous(view))
      return false;
    ends.push_back(view.offset);
    ends.push_back(view.end());
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  if (int64_t(ends.size()) > kMaxCells)
    return false;
  auto index = [&](int64_t end) { return int(std::lower_bound(ends.begin(), ends.end(), end) - ends.begin()); };
  int64_t listed = 0;
  for (size_t v = 0; v < views.size(); ++v) {
    for (int cell = index(views[v].offset); cell < index(views[v].end()); ++cell)
      cells.ofView[v].push_back(cell);
    listed += cells.ofView[v].size();
    if (listed > kMaxListed)
      return false;
  }
  return true;
}

/// A view as ranges of digits; one digit for each stride of the chain.
using Box = std::vector<std::pair<int64_t, int64_t>>;

/// The strides of all views in ascending order, if each divides the next.
std::optional<std::vector<int64_t>> strideChain(const std::vector<View> &views) {
  std::vector<int64_t> chain = {1};
  for (const View &view : views)
    for (const View::Dim &dim : view.dims)
      chain.push_back(dim.stride);
  std::sort(chain.begin(), chain.end());
  chain.erase(std::unique(chain.begin(), chain.end()), chain.end());
  for (size_t i = 1; i < chain.size(); ++i)
    if (chain[i] % chain[i - 1] != 0)
      return std::nullopt;
  return chain;
}

/// The digits of a view, or nothing where a range would carry into the next digit.
std::optional<Box> digitBox(const View &view, const std::vector<int64_t> &chain) {
  Box box(chain.size());
  int64_t rest = view.offset;
  for (size_t i = chain.size(); i-- > 0;) {
    box[i] = {rest / chain[i], rest / chain[i] + 1};
    rest %= chain[i];
  }
  for (const View::Dim &dim : view.dims) {
    size_t i = std::lower_bound(chain.begin(), chain.end(), dim.stride) - chain.begin();
    int64_t size = dim.size;
    for (; size > 1; ++i) {
      if (i == chain.size() || box[i].second != box[i].first + 1)
        return std::nullopt;
      int64_t radix = i + 1 < chain.size() ? chain[i + 1] / chain[i] : INT64_MAX;
      if (box[i].first + size <= radix) {
        box[i].second = box[i].first + size;
        break;
      }
      // A longer run fills this digit and goes on in the next.
      if (box[i].first != 0 || size % radix != 0)
        return std::nullopt;
      box[i] = {0, radix};
      size /= radix;
    }
  }
  return box;
}

bool divideGrid(const std::vector<View> &views, Cells &cells) {
  std::optional<std::vector<int64_t>> chain = strideChain(views);
  if (!chain)
    return false;
  std::vector<Box> boxes;
  std::vector<std::vector<int64_t>> ends(chain->size());
  for (const View &view : views) {
    std::optional<Box> box = digitBox(view, *chain);
    if (!box)
      return false;
    boxes.push_back(*box);
    for (size_t i = 0; i < chain->size(); ++i) {
      ends[i].push_back((*box)[i].first);
      ends[i].push_back((*box)[i].second);
    }
  }
  int64_t count = 1;
  for (std::vector<int64_t> &list : ends) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    count *= list.size();
    if (count > kMaxCells)
      return false;
  }
  int64_t listed = 0;
  for (size_t v = 0; v < boxes.size(); ++v) {
    std::vector<int> list = {0};
    for (size_t i = chain->size(); i-- > 0;) {
      auto index = [&](int64_t end) {
        return int(std::lower_bound(ends[i].begin(), ends[i].end(), end) - ends[i].begin());
      };
      std::vector<int> finer;
      for (int cell : list)
        for (int digit = index(boxes[v][i].first); digit < index(boxes[v][i].second); ++digit)
          finer.push_back(cell * int(ends[i].size()) + digit);
      list = std::move(finer);
    }
    listed += list.size();
    if (listed > kMaxListed)
      return false;
    cells.ofView[v] = std::move(list);
  }
  return true;
}

/// Calls visit(unit) for every unit of `unit` elements in a view.
template <typename Visitor>
void visitUnits(const View &view, int64_t unit, size_t dim, int64_t start, Visitor &&visit) {
  if (dim == 0)
    return visit(start / unit);
  const View::Dim &outer = view.dims[dim - 1];
  int64_t step = outer.stride == 1 ? unit : outer.stride;
  for (int64_t at = 0; at < outer.size * outer.stride; at += step)
    visitUnits(view, unit, dim - 1, start + at, visit);
}

bool divideUnits(int64_t elements, const std::vector<View> &views, int64_t &budget, Cells &cells) {
  int64_t unit = 0;
  for (const View &view : views) {
    unit = std::gcd(unit, view.offset);
    bool runs = false;
    for (const View::Dim &dim : view.dims) {
      unit = std::gcd(unit, dim.stride == 1 ? dim.size : dim.stride);
      runs |= dim.stride == 1;
    }
    if (!runs)
      unit = 1;
  }
  budget -= elements / unit + 1;
  for (const View &view : views) {
    int64_t count = 2;
    for (const View::Dim &dim : view.dims)
      if (__builtin_mul_overflow(count, dim.stride == 1 ? dim.size / unit : dim.size, &count))
        return false;
    budget -= std::min(count, kMaxEnumerated);
    if (budget < 0)
      return false;
  }
  // Views refine the classes of units one after another; a class is split into those inside and outside of the view.
  std::vector<int> classOf(elements / unit + 1, 0);
  int classes = 1;
  for (const View &view : views) {
    std::map<int, int> inside;
    int before = classes;
    visitUnits(view, unit, view.dims.size(), view.offset, [&](int64_t at) {
      if (classOf[at] >= before)
        return; // seen: windows overlap
      auto [entry, isNew] = inside.emplace(classOf[at], classes);
      classes += isNew;
      classOf[at] = entry->second;
    });
  }
  for (size_t v = 0; v < views.size(); ++v) {
    std::vector<int> &list = cells.ofView[v];
    visitUnits(views[v], unit, views[v].dims.size(), views[v].offset, [&](int64_t at) { list.push_back(classOf[at]); });
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return true;
}

} // namespace

int64_t View::end() const {
  int64_t last = offset;
  for (const Dim &dim : dims)
    last += (dim.size - 1) * dim.stride;
  return last + 1;
}

View normalizedView(int64_t offset, const std::vector<int64_t> &sizes, const std::vector<int64_t> &strides) {
  View view;
  view.offset = offset;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] > 1 && strides[i] > 0)
      view.dims.push_back({sizes[i], strides[i]});
  std::sort(view.dims.begin(), view.dims.end(), [](const View::Dim &a, const View::Dim &b) {
    return std::pair(a.stride, a.size) < std::pair(b.stride, b.size);
  });
  std::vector<View::Dim> merged;
  for (const View::Dim &dim : view.dims) {
    if (!merged.empty() && dim.stride == merged.back().stride * merged.back().size)
      merged.back().size *= dim.size;
    else
      merged.push_back(dim);
  }
  view.dims = std::move(merged);
  return view;
}

bool divideIntoCells(int64_t elements, const std::vector<View> &views, int64_t &budget, Cells &cells) {
  cells.ofView.assign(views.size(), {});
  if (views.size() == 1) {
    cells.ofView[0] = {0};
    cells.count = 1;
    return true;
  }
  auto clear = [&] { cells.ofView.assign(views.size(), {}); };
  bool divided = divideIntervals(views, cells);
  if (!divided) {
    clear();
    divided = divideGrid(views, cells);
  }
  if (!divided) {
    clear();
    divided = divideUnits(elements, views, budget, cells);
  }
  if (divided)
    renumber(cells);
  return divided;
}

} // namespace shardc::rt::verify
