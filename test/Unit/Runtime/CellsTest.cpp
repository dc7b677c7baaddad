// Buffers are divided by their views: contiguous pieces, boxes of a grid, and anything else element by element.
#include "runtime/verify/Cells.h"
#include "gtest/gtest.h"

#include <random>
#include <set>

namespace shardc::rt::verify {
namespace {

std::set<int64_t> elementsOf(const View &view) {
  std::set<int64_t> elements = {view.offset};
  for (const View::Dim &dim : view.dims) {
    std::set<int64_t> more;
    for (int64_t element : elements)
      for (int64_t i = 0; i < dim.size; ++i)
        more.insert(element + i * dim.stride);
    elements = more;
  }
  return elements;
}

/// Views meet exactly where they have cells in common, and a view within another has no cell that the other lacks.
void expectExact(int64_t elements, const std::vector<View> &views) {
  Cells cells;
  int64_t budget = kMaxEnumerated;
  ASSERT_TRUE(divideIntoCells(elements, views, budget, cells));
  for (size_t a = 0; a < views.size(); ++a)
    for (size_t b = 0; b < views.size(); ++b) {
      std::set<int64_t> x = elementsOf(views[a]), y = elementsOf(views[b]);
      std::set<int> p(cells.ofView[a].begin(), cells.ofView[a].end()),
          q(cells.ofView[b].begin(), cells.ofView[b].end());
      bool meet = std::any_of(x.begin(), x.end(), [&](int64_t element) { return y.contains(element); });
      bool share = std::any_of(p.begin(), p.end(), [&](int cell) { return q.contains(cell); });
      EXPECT_EQ(meet, share) << a << " and " << b;
      EXPECT_EQ(std::includes(y.begin(), y.end(), x.begin(), x.end()),
                std::includes(q.begin(), q.end(), p.begin(), p.end()))
          << a << " in " << b;
    }
}

TEST(Cells, ViewsHaveOneForm) {
  EXPECT_EQ(normalizedView(0, {4, 8}, {8, 1}), normalizedView(0, {32}, {1}));
  EXPECT_EQ(normalizedView(3, {8, 4}, {1, 8}), normalizedView(3, {2, 16}, {16, 1}));
  EXPECT_EQ(normalizedView(5, {1, 1}, {100, 7}), normalizedView(5, {}, {}));
  EXPECT_EQ(normalizedView(0, {4, 8}, {0, 1}), normalizedView(0, {8}, {1}));
}

TEST(Cells, WholeBuffersHaveOneCell) {
  Cells cells;
  int64_t budget = 0;
  EXPECT_TRUE(divideIntoCells(1 << 30, {normalizedView(0, {1 << 30}, {1})}, budget, cells));
  EXPECT_EQ(cells.count, 1);
}

TEST(Cells, FusedProjectionsHaveThreePieces) {
  // [batch 2, sequence 8, 3, heads 4, head 16]: q, k and v, each head of q, transposed keys, and all of it.
  std::vector<View> views = {normalizedView(0, {2 * 8, 192}, {192, 1})};
  for (int piece = 0; piece < 3; ++piece)
    views.push_back(normalizedView(piece * 64, {2, 4, 8, 16}, {8 * 192, 16, 192, 1}));
  for (int head = 0; head < 4; ++head)
    views.push_back(normalizedView(head * 16, {2, 8, 16}, {8 * 192, 192, 1}));
  views.push_back(normalizedView(64, {2, 4, 16, 8}, {8 * 192, 16, 1, 192}));
  expectExact(2 * 8 * 192, views);
}

TEST(Cells, ShiftedRowsAndPaddedColumns) {
  expectExact(4 * 10 * 12, {normalizedView(0, {4, 9, 12}, {120, 12, 1}), normalizedView(12, {4, 9, 12}, {120, 12, 1}),
                            normalizedView(0, {40, 11}, {12, 1}), normalizedView(11, {40}, {12})});
}

TEST(Cells, LargePaddedBuffersNeedNoEnumeration) {
  Cells cells;
  int64_t budget = 0;
  EXPECT_TRUE(divideIntoCells(
      int64_t(8192) * 50304,
      {normalizedView(0, {8192, 50257}, {50304, 1}), normalizedView(0, {8192, 50304}, {50304, 1})}, budget, cells));
  EXPECT_EQ(cells.count, 2);
}

TEST(Cells, IrregularViewsAreEnumerated) {
  expectExact(100, {normalizedView(0, {10, 3}, {10, 1}), normalizedView(1, {14}, {7}), normalizedView(50, {30}, {1})});
  Cells cells;
  int64_t budget = 1000;
  EXPECT_FALSE(
      divideIntoCells(1 << 20, {normalizedView(0, {1000}, {1001}), normalizedView(1, {1000}, {997})}, budget, cells));
}

TEST(Cells, RandomViewsAreExact) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<View> views;
    for (int v = 2 + random() % 4; v > 0; --v) {
      std::vector<int64_t> sizes, strides;
      int64_t stride = 1;
      for (int d = random() % 3; d >= 0; --d) {
        sizes.push_back(1 + random() % 4);
        strides.push_back(stride);
        stride *= sizes.back() + random() % 3;
      }
      View view = normalizedView(random() % 7, sizes, strides);
      if (std::find(views.begin(), views.end(), view) == views.end())
        views.push_back(view);
    }
    expectExact(1000, views);
  }
}

} // namespace
} // namespace shardc::rt::verify
