//===-- DataTest.cpp - datasets, arrays and the order of samples --------------------------------------------------===//

#include "TinyPlan.h"
#include "runtime/base/File.h"
#include "runtime/base/Float16.h"
#include "runtime/io/CheckValues.h"
#include "runtime/io/Dataset.h"
#include "runtime/io/Npy.h"
#include "runtime/io/SafeTensors.h"
#include "runtime/io/SampleOrder.h"

#include <algorithm>
#include <cfloat>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

using namespace shardc;
using namespace shardc::rt;
using namespace shardc::rt::test;

namespace {

void write(const std::string &path, std::string_view contents) { ASSERT_TRUE(writeFile(path, contents).isOk()); }

plan::Input &addInput(plan::Plan &plan, const std::string &name, plan::ElementType type, plan::Input::Role role,
                      std::vector<int64_t> shape, int64_t bound = 0) {
  plan::Input &input = *plan.add_inputs();
  input.set_name(name);
  input.set_type(type);
  input.set_role(role);
  input.set_index_bound(bound);
  for (int64_t size : shape)
    input.add_sample_shape(size);
  return input;
}

plan::Plan textPlan(int64_t length, int64_t vocabulary = 256) {
  plan::Plan plan;
  addInput(plan, "ids", plan::I64, plan::Input::TOKENS, {length}, vocabulary);
  plan::Input &labels = addInput(plan, "labels", plan::I64, plan::Input::LABELS, {length}, vocabulary);
  labels.set_ignore_value(-100);
  labels.set_has_ignore_value(true);
  return plan;
}

std::string npyBytes(const std::string &header, std::string_view data, int major = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(major);
  bytes += '\0';
  uint32_t length = header.size();
  bytes.append(reinterpret_cast<const char *>(&length), major == 1 ? 2 : 4);
  return bytes + header + std::string(data);
}

std::string int64Bytes(std::vector<int64_t> values) {
  return std::string(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(int64_t));
}

} // namespace

//===-- Text ------------------------------------------------------------------------------------------------------===//

TEST(Text, WindowsDoNotOverlapAndLabelsAreTheNextBytes) {
  TemporaryFolder folder;
  write(folder.file("text"), "abcdefgh\xff!"); // 10 bytes: two windows of 4, one byte over
  auto data = openText(textPlan(4), folder.file("text"));
  ASSERT_TRUE(data.isOk()) << data.status().render();
  EXPECT_EQ((*data)->samples(), 2);
  int64_t values[4];
  ASSERT_TRUE((*data)->read(0, 1, values).isOk());
  EXPECT_EQ(values[0], 'e');
  EXPECT_EQ(values[3], 'h');
  ASSERT_TRUE((*data)->read(1, 1, values).isOk());
  EXPECT_EQ(values[0], 'f');
  EXPECT_EQ(values[3], 255);
  EXPECT_NE((*data)->remarks()[0].find("the last 1 bytes fill no window and are dropped"), std::string::npos);
}

TEST(Text, TheLastWindowNeedsItsLastLabel) {
  TemporaryFolder folder;
  write(folder.file("text"), "abcdefgh");
  EXPECT_EQ((*openText(textPlan(4), folder.file("text")))->samples(), 1);
  write(folder.file("text"), "abcdefghi");
  EXPECT_EQ((*openText(textPlan(4), folder.file("text")))->samples(), 2);
  write(folder.file("text"), "abcd");
  EXPECT_EQ(openText(textPlan(4), folder.file("text")).status().message(),
            fmt::format("text '{}': 4 bytes, expected at least 5 for one window [data-text]", folder.file("text")));
  write(folder.file("text"), "");
  EXPECT_FALSE(openText(textPlan(4), folder.file("text")).isOk());
}

TEST(Text, ModelsThatCannotReadTextAreRefused) {
  TemporaryFolder folder;
  write(folder.file("text"), "some text that is long enough");
  std::string path = folder.file("text");
  EXPECT_EQ(openText(textPlan(4, 100), path).status().message(),
            "input 'ids': a vocabulary of 100, expected at least 256 for bytes of text [data-text]");
  plan::Plan plan = textPlan(4);
  addInput(plan, "mask", plan::F32, plan::Input::DATA, {4});
  EXPECT_EQ(openText(plan, path).status().message(),
            "input 'mask': neither tokens nor labels; text cannot fill it [data-text]");
  plan = textPlan(4);
  plan.mutable_inputs()->RemoveLast();
  EXPECT_EQ(openText(plan, path).status().message(), "text: the model has no input of labels [data-text]");
  plan = textPlan(4);
  plan.mutable_inputs(1)->set_sample_shape(0, 3);
  EXPECT_EQ(openText(plan, path).status().message(), "input 'labels': 3 labels a sample, expected 4 [data-text]");
  EXPECT_EQ(openText(textPlan(4), folder.file("none")).status().kind(), StatusKind::NotFound);
}

//===-- Arrays ----------------------------------------------------------------------------------------------------===//

TEST(Npy, ReadsBothVersionsAndHeadersInAnyOrder) {
  TemporaryFolder folder;
  std::string path = folder.file("a.npy");
  write(path, npyBytes("{'descr': '<i8', 'fortran_order': False, 'shape': (2, 1), }   \n", int64Bytes({5, 6})));
  auto array = openNpy(path);
  ASSERT_TRUE(array.isOk()) << array.status().render();
  EXPECT_EQ(array->type, plan::I64);
  EXPECT_EQ(array->shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(std::memcmp(array->data, int64Bytes({5, 6}).data(), 16), 0);
  write(path, npyBytes("{\"shape\": (2,), \"fortran_order\": False, \"descr\": \"<i8\"}", int64Bytes({5, 6}), 2));
  EXPECT_TRUE(openNpy(path).isOk());
}

TEST(Npy, BadFilesAreErrorsThatSayWhatIsWrong) {
  TemporaryFolder folder;
  std::string path = folder.file("a.npy");
  std::string good = "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }";
  auto message = [&](const std::string &bytes) {
    write(path, bytes);
    auto array = openNpy(path);
    EXPECT_FALSE(array.isOk());
    std::string text = array.status().message();
    return text.substr(text.find("': ") + 3);
  };
  EXPECT_EQ(message(""), "the file is empty [data-file]");
  EXPECT_EQ(message("PK\x03\x04 an archive"), "an .npz archive, expected one array [data-file]");
  EXPECT_EQ(message("version https://git-lfs"), "not a .npy file [data-file]");
  EXPECT_EQ(message(npyBytes(good, "", 3)), ".npy version 3, expected 1 or 2 [data-file]");
  EXPECT_EQ(message(npyBytes(good, "").substr(0, 30)), "the header is truncated [data-file]");
  EXPECT_EQ(message(npyBytes(good, int64Bytes({1}))),
            "8 bytes of data, expected 16 for shape [2] of int64 [data-file]");
  EXPECT_EQ(message(npyBytes("{'descr': '>i8', 'fortran_order': False, 'shape': (2,), }", "")),
            "element type '>i8' is not supported [data-type]");
  EXPECT_EQ(message(npyBytes("{'descr': '<i8', 'fortran_order': True, 'shape': (2,), }", "")),
            "Fortran order, expected C order [data-file]");
  for (const char *header :
       {"", "{", "{'descr': '<i8'}", "{'descr': [('x', '<i8')], 'fortran_order': False, 'shape': ()}",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (2", "{'descr': '<i8', 'shape': (-2,)}",
        "{'descr': '<i8', 'fortran_order': Maybe, 'shape': (2,)}", "{'other': 3}"})
    EXPECT_EQ(message(npyBytes(header, "")), "the header cannot be read [data-file]") << header;
  EXPECT_EQ(message(npyBytes("{'descr': '<i8', 'fortran_order': False, 'shape': (4611686018427387904, 8), }", "")),
            "its shape is beyond any file [data-file]");
}

TEST(Arrays, EveryInputNeedsOneFittingArray) {
  TemporaryFolder folder;
  plan::Plan plan;
  addInput(plan, "x", plan::F32, plan::Input::DATA, {3});
  plan::Input &labels = addInput(plan, "labels", plan::I64, plan::Input::LABELS, {}, 10);
  labels.set_ignore_value(-100);
  labels.set_has_ignore_value(true);
  std::string x = folder.file("x.npy"), l = folder.file("l.npy");
  auto writeLabels = [&](std::vector<int64_t> values) {
    write(l, npyBytes(fmt::format("{{'descr': '<i8', 'fortran_order': False, 'shape': ({},), }}", values.size()),
                      int64Bytes(values)));
  };
  auto message = [&](std::vector<std::pair<std::string, std::string>> files) {
    return openArrays(plan, files).status().message();
  };
  writeNpy(x, {2, 3}, std::vector<float>(6, 1));
  writeLabels({9, -100});
  EXPECT_EQ(message({{"x", x}, {"labels", l}}), "");
  EXPECT_EQ(message({{"x", x}}), "input 'labels': no data given [data-input]");
  EXPECT_EQ(message({{"x", x}, {"labels", l}, {"x", x}}), "data 'x': given twice [data-input]");
  EXPECT_EQ(message({{"y", x}}), "data 'y': the model has no such input [data-input]");
  EXPECT_EQ(message({{"x", l}, {"labels", l}}),
            fmt::format("input 'x': '{}' has type int64, expected float32 [data-type]", l));
  writeLabels({9, -100, 3});
  EXPECT_EQ(message({{"x", x}, {"labels", l}}), "input 'labels': 3 samples, but input 'x' has 2 [data-samples]");
  writeLabels({9, 10});
  EXPECT_EQ(message({{"x", x}, {"labels", l}}),
            "input 'labels': sample 1 has value 10 at element 0, expected [0, 10) or -100 [data-range]");
  writeLabels({9, -1});
  EXPECT_EQ(message({{"x", x}, {"labels", l}}),
            "input 'labels': sample 1 has value -1 at element 0, expected [0, 10) or -100 [data-range]");
  writeLabels({9, 1});
  writeNpy(x, {2, 4}, std::vector<float>(8, 1));
  EXPECT_EQ(message({{"x", x}, {"labels", l}}),
            fmt::format("input 'x': '{}' has shape [2, 4], expected [samples, 3] [data-shape]", x));
}

TEST(Arrays, FloatsAreFiniteInEveryType) {
  plan::Plan plan;
  addInput(plan, "x", plan::F32, plan::Input::DATA, {2});
  plan::Input input = plan.inputs(0);
  auto message = [&](plan::ElementType type, auto first, auto second) {
    input.set_type(type);
    decltype(first) values[] = {first, second};
    return checkValues(input, 3, values).message();
  };
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(message(plan::F32, 1.0f, -FLT_MAX), "");
  EXPECT_EQ(message(plan::F32, 1.0f, -infinity),
            "input 'x': sample 3 has value -inf at element 1, expected a finite number [data-range]");
  EXPECT_EQ(message(plan::F64, double(nan), 1.0),
            "input 'x': sample 3 has value nan at element 0, expected a finite number [data-range]");
  EXPECT_EQ(message(plan::F16, Float16(65504), Float16(0)), "");
  EXPECT_NE(message(plan::F16, Float16(65504), Float16(nan)), "");
  EXPECT_NE(message(plan::BF16, BFloat16(1), BFloat16(infinity)), "");
}

TEST(Arrays, LabelsThatAreAllIgnoredAreRefused) {
  TemporaryFolder folder;
  plan::Plan plan;
  plan::Input &labels = addInput(plan, "labels", plan::I64, plan::Input::LABELS, {2}, 10);
  labels.set_ignore_value(-100);
  labels.set_has_ignore_value(true);
  auto message = [&](std::vector<int64_t> values) {
    std::string header =
        fmt::format("{{'descr': '<i8', 'fortran_order': False, 'shape': ({}, 2), }}", values.size() / 2);
    write(folder.file("l.npy"), npyBytes(header, int64Bytes(values)));
    return openArrays(plan, {{"labels", folder.file("l.npy")}}).status().message();
  };
  EXPECT_EQ(message({-100, -100, -100, 7}), "");
  EXPECT_EQ(message({-100, -100, -100, -100}),
            "input 'labels': every label is -100, which the model ignores, expected others [data-labels]");
  EXPECT_EQ(message({}), ""); // SampleOrder says how many samples it takes
}

TEST(Synthetic, IsReproducibleAndInRange) {
  plan::Plan plan = textPlan(8, 50);
  auto a = makeSynthetic(plan, 1, 10), b = makeSynthetic(plan, 1, 10), c = makeSynthetic(plan, 2, 10);
  int64_t first[8], second[8], third[8];
  ASSERT_TRUE((*a)->read(0, 3, first).isOk() && (*b)->read(0, 3, second).isOk() && (*c)->read(0, 3, third).isOk());
  EXPECT_TRUE(std::ranges::equal(first, second));
  EXPECT_FALSE(std::ranges::equal(first, third));
  for (int64_t value : first)
    EXPECT_TRUE(value >= 0 && value < 50);
}

//===-- Order -----------------------------------------------------------------------------------------------------===//

TEST(SampleOrder, EpochsVisitEverySampleOnceInDifferentOrders) {
  auto order = SampleOrder::create(10, 4, 7, true);
  ASSERT_TRUE(order.isOk());
  EXPECT_EQ(order->stepsPerEpoch(), 2);
  EXPECT_EQ(order->droppedPerEpoch(), 2);
  std::vector<std::vector<int64_t>> epochs(2);
  for (int64_t step = 0; step < 4; ++step)
    for (int64_t sample : order->samplesOfStep(step))
      epochs[step / 2].push_back(sample);
  for (const auto &epoch : epochs) {
    EXPECT_EQ(std::set<int64_t>(epoch.begin(), epoch.end()).size(), 8u);
    EXPECT_TRUE(std::ranges::all_of(epoch, [](int64_t sample) { return sample >= 0 && sample < 10; }));
  }
  EXPECT_NE(epochs[0], epochs[1]);
}

TEST(SampleOrder, IsGivenBySeedAndNotByHowItIsAsked) {
  auto a = SampleOrder::create(100, 8, 7, true), b = SampleOrder::create(100, 8, 7, true),
       c = SampleOrder::create(100, 8, 8, true);
  for (int64_t step = 0; step < 30; ++step)
    (void)a->samplesOfStep(step);
  EXPECT_TRUE(std::ranges::equal(a->samplesOfStep(5), b->samplesOfStep(5)));
  EXPECT_FALSE(std::ranges::equal(a->samplesOfStep(5), c->samplesOfStep(5)));
}

TEST(SampleOrder, BatchesDivideTheSameOrder) {
  auto a = SampleOrder::create(96, 8, 7, true), b = SampleOrder::create(96, 4, 7, true);
  std::vector<int64_t> small;
  for (int64_t step = 0; step < 2; ++step)
    for (int64_t sample : b->samplesOfStep(step))
      small.push_back(sample);
  EXPECT_TRUE(std::ranges::equal(a->samplesOfStep(0), small));
}

TEST(SampleOrder, WithoutShufflingFileOrderRepeats) {
  auto order = SampleOrder::create(10, 4, 7, false);
  EXPECT_TRUE(std::ranges::equal(order->samplesOfStep(1), std::vector<int64_t>{4, 5, 6, 7}));
  EXPECT_TRUE(std::ranges::equal(order->samplesOfStep(2), std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(SampleOrder, FewerSamplesThanABatchAreAnError) {
  EXPECT_EQ(SampleOrder::create(7, 8, 0, true).status().message(),
            "data: 7 samples, expected at least one global batch of 8 [data-samples]");
  EXPECT_FALSE(SampleOrder::create(0, 1, 0, true).isOk());
  EXPECT_TRUE(SampleOrder::create(8, 8, 0, true).isOk());
}

//===-- Tensors ---------------------------------------------------------------------------------------------------===//

TEST(SafeTensors, HaveAHeaderAndAlignedData) {
  TemporaryFolder folder;
  std::string path = folder.file("out.safetensors");
  ASSERT_TRUE(writeSafeTensors(path, {{"a/\"b", {2, 1}, {1, 2}}, {"scalar", {}, {3}}}).isOk());
  std::string bytes = *readFile(path);
  uint64_t length;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  auto header = nlohmann::json::parse(bytes.substr(8, length));
  EXPECT_EQ(header["a/\"b"]["shape"], (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(header["scalar"]["data_offsets"], (std::vector<int64_t>{8, 12}));
  float values[3];
  ASSERT_EQ(bytes.size(), 8 + length + sizeof(values));
  std::memcpy(values, bytes.data() + 8 + length, sizeof(values));
  EXPECT_EQ(values[2], 3);
  EXPECT_EQ(writeSafeTensors("/nowhere/out", {}).kind(), StatusKind::NotFound);
  EXPECT_EQ(writeSafeTensors(path, {{"a", {}, {1}}, {"a", {}, {1}}}).kind(), StatusKind::Internal);
}
