//===-- ShowJson.cpp - a plan as JSON -----------------------------------------------------------------------------===//

#include "runtime/format/Query.h"
#include "runtime/verify/Report.h"
#include "tools/shardplan/Show.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace shardc::shardplan {
namespace {

using Json = nlohmann::ordered_json;

template <typename Range> Json list(const Range &range) {
  Json result = Json::array();
  for (const auto &item : range)
    result.push_back(item);
  return result;
}

/// A whole number as an integer, another as a float.
Json number(int64_t times, int64_t members) {
  return times % members == 0 ? Json(times / members) : Json(double(times) / double(members));
}

Json trainingJson(const plan::Training &training) {
  return {{"micro_batch", training.micro_batch()},   {"micro_batches", training.micro_batches()},
          {"global_batch", training.global_batch()}, {"schedule", training.schedule()},
          {"recompute", training.recompute()},       {"optimizer", training.optimizer()},
          {"precision", training.precision()},       {"learning_rate", training.learning_rate()},
          {"lr_schedule", training.lr_schedule()},   {"warmup_steps", training.warmup_steps()},
          {"total_steps", training.total_steps()},   {"clip_norm", training.clip_norm()},
          {"dropout", training.dropout()},           {"loss_seed", training.loss_seed()}};
}

Json memoryJson(const MemoryUse &memory) {
  Json regions = Json::object();
  for (const MemoryPart &part : memory.parts)
    regions[part.name] = {{"bytes", part.bytes}, {"buffers", part.buffers}, {"elements", part.elements}};
  Json largest = Json::array();
  for (const MemoryHolder &holder : memory.largest)
    largest.push_back(
        {{"name", holder.name}, {"region", holder.region}, {"bytes", holder.bytes}, {"slots", holder.slots}});
  Json tensors = Json::array();
  for (const StashTensor &tensor : memory.stash)
    tensors.push_back({{"name", tensor.name},
                       {"type", rt::elementName(tensor.type)},
                       {"shape", tensor.shape},
                       {"elements", tensor.elements},
                       {"slots", tensor.slots}});
  return {{"arena_bytes", memory.arenaBytes},
          {"regions", regions},
          {"largest", largest},
          {"scratch_peak_bytes", memory.scratchPeakBytes},
          {"stash",
           {{"slots", memory.stashSlots},
            {"elements", memory.stashElements},
            {"bytes", memory.stashBytes},
            {"tensors", tensors}}}};
}

Json communicationJson(const CommunicationUse &use) {
  return {{"category", use.category},
          {"direction", use.direction},
          {"kind", use.kind},
          {"reduction", use.reduction},
          {"communicator", use.communicator},
          {"axes", use.axes},
          {"members", use.members},
          {"node", use.node},
          {"origin", use.origin},
          {"elements", use.elements},
          {"bytes", use.bytes},
          {"runs", use.runs},
          {"sent_elements", number(use.sentTimesMembers, use.members)},
          {"step_bytes", use.bytes * use.runs},
          {"step_sent_elements", number(use.sentTimesMembers * use.runs, use.members)}};
}

Json scheduleJson(const std::vector<ChartAction> &row) {
  Json result = Json::array();
  for (const ChartAction &action : row)
    result.push_back({{"action", rt::verify::actionName(action.kind)},
                      {"micro_batch", action.microBatch},
                      {"slot", action.slot},
                      {"begin", action.begin},
                      {"end", action.end}});
  return result;
}

Json buffersJson(const plan::Program &program) {
  Json result = Json::array();
  for (const plan::Buffer &buffer : program.buffers())
    result.push_back({{"name", buffer.name()},
                      {"region", rt::verify::regionName(buffer.region())},
                      {"type", rt::elementName(buffer.type())},
                      {"shape", list(buffer.shape())},
                      {"offset", buffer.offset()},
                      {"bytes", buffer.bytes()},
                      {"slots", buffer.slots()},
                      {"slot_stride", buffer.slot_stride()},
                      {"parameter", buffer.parameter()}});
  return result;
}

Json blocksJson(const plan::Plan &plan, const plan::Program &program, bool withInstructions) {
  Json result = Json::array();
  for (const plan::Block &block : program.blocks()) {
    Json entry = {{"name", block.name()},
                  {"action", rt::verify::actionName(block.action())},
                  {"instructions", block.instructions_size()}};
    if (withInstructions) {
      Json texts = Json::array();
      for (const plan::Instruction &instruction : block.instructions())
        texts.push_back({{"kind", rt::instructionName(instruction)},
                         {"node", instruction.node()},
                         {"origin", instruction.origin()},
                         {"stream", instruction.stream()},
                         {"text", describeInstruction(plan, program, instruction)}});
      entry["list"] = texts;
    }
    result.push_back(entry);
  }
  return result;
}

Json programJson(const plan::Plan &plan, const PlanSummary &summary, int p, const ShowOptions &options) {
  const ProgramSummary &program = summary.programs[p];
  Json communications = Json::array();
  for (const CommunicationUse &use : program.communications)
    communications.push_back(communicationJson(use));
  return {{"pp", p},
          {"first_node", program.firstNode},
          {"last_node", program.lastNode},
          {"streams", plan.programs(p).streams()},
          {"events", plan.programs(p).events()},
          {"memory", memoryJson(program.memory)},
          {"communication", communications},
          {"schedule", scheduleJson(summary.chart.rows[p])},
          {"bubble_units", summary.chart.bubble(p)},
          {"blocks", blocksJson(plan, plan.programs(p), options.instructions)},
          {"buffers", buffersJson(plan.programs(p))}};
}

Json parametersJson(const plan::Plan &plan) {
  Json result = Json::array();
  for (const plan::Parameter &parameter : plan.parameters())
    result.push_back({{"name", parameter.name()},
                      {"type", rt::elementName(parameter.type())},
                      {"shape", list(parameter.shape())},
                      {"trainable", parameter.trainable()},
                      {"decays", parameter.decays()}});
  return result;
}

Json kernelJson(const plan::Kernel &kernel, int64_t calls) {
  Json result{{"symbol", kernel.symbol()}, {"description", kernel.description()}, {"calls", calls}};
  if (kernel.has_launch())
    result["launch"] = {{"grid", kernel.launch().grid()},
                        {"block", kernel.launch().block()},
                        {"shared_bytes", kernel.launch().shared_bytes()},
                        {"cooperative", kernel.launch().cooperative()}};
  return result;
}

} // namespace

std::string showJson(const plan::Plan &plan, const PlanSummary &summary, const ShowOptions &options) {
  Json result;
  result["model"] = plan.model();
  result["mesh"] = Json::array();
  for (const plan::Mesh::Axis &axis : plan.mesh().axes())
    result["mesh"].push_back({{"name", axis.name()}, {"size", axis.size()}});
  result["ranks"] = rt::MeshView(plan.mesh()).ranks();
  result["training"] = trainingJson(plan.training());
  result["target"] = {{"kind", plan.target().kind()}, {"cpu", plan.target().cpu()}};
  if (!plan.target().gpu_archs().empty())
    result["target"]["gpu_archs"] = list(plan.target().gpu_archs());
  result["notes"] = list(plan.notes());
  result["parameters"] = parametersJson(plan);
  result["schedule_units"] = summary.chart.length;
  result["evaluates"] = std::ranges::any_of(plan.programs(), &plan::Program::has_evaluation);
  result["programs"] = Json::array();
  for (int p = 0; p < plan.programs_size(); ++p)
    result["programs"].push_back(programJson(plan, summary, p, options));
  result["kernel_count"] = plan.kernels_size();
  if (options.kernels) {
    std::vector<int64_t> calls = countKernelCalls(plan);
    result["kernels"] = Json::array();
    for (int k = 0; k < plan.kernels_size(); ++k)
      result["kernels"].push_back(kernelJson(plan.kernels(k), calls[k]));
  }
  // Names in a plan are any bytes; JSON is UTF-8.
  return result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace shardc::shardplan
