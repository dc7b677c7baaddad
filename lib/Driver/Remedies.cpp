//===-- Remedies.cpp - what to do about an error, by its label ----------------------------------------------------===//

#include "shardc/Driver/Remedies.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

#include <algorithm>

using namespace shardc::driver;
using llvm::StringRef;

namespace {

constexpr char kReport[] = "this is a defect of shardc: report it with the model and the command line";
constexpr char kExportAgain[] = "the file is damaged, or its exporter is at fault: export the model again";
constexpr char kRepairGraph[] = "the graph is no valid ONNX: export the model again, or repair the node that is named";
constexpr char kFixShapes[] = "run onnx.shape_inference with strict_mode on the model, and repair what it names";
constexpr char kChooseTensors[] = "choose tensors by --trainable GLOB and --freeze GLOB, names as in the model";

struct Remedy {
  const char *label, *text;
};

/// In the order of docs/errors.md.
constexpr Remedy kRemedies[] = {
    {"option-syntax", "shardc --help lists the options"},
    {"option-range", "leave it out for the default, which shardc --help says"},
    {"option-choice", "shardc --help lists the choices"},
    {"option-mesh", "for example dp,pp,tp or pp,dp,tp"},
    {"option-precision", "only --precision fp16 has a loss scale"},
    {"option-batch", "choose --global-batch as a multiple of --micro-batch times --dp"},
    {"option-steps", "give the steps with --total-steps N, more than those of --warmup"},
    {"option-shape", "write --dim NAME=N, and --shape INPUT=AxB with all dimensions"},
    {"option-unused", "leave it out"},
    {"option-folder", "give a folder that exists"},
    {"option-output", "for example -o plan"},
    {"output-folder", "choose another place with -o, in a folder that exists and may be written"},
    {"output-file", "make room on the disk, or choose another place with -o"},
    {"file-0", "give the path of an .onnx file"},
    {"file-1", kExportAgain},
    {"file-2", "give a file that an ONNX exporter wrote"},
    {"file-3", "copy or export the model again"},
    {"file-4", "export with external data: the weights then lie in a file of their own"},
    {"file-5", kExportAgain},
    {"file-6", "export with an older or newer exporter"},
    {"file-7", kExportAgain},
    {"file-8", kExportAgain},
    {"file-9", "export with opset_version=17 (TorchScript) or 18 (dynamo)"},
    {"file-10", kExportAgain},
    {"file-12", "rename it in the model: names are UTF-8"},
    {"graph-13", "no value may depend on itself: export the model again, or repair the node that is named"},
    {"graph-14", "every value needs a name of its own: export the model again, or rename one of them"},
    {"graph-15", kRepairGraph},
    {"graph-16", "name an output of a node as the graph's output, or remove it"},
    {"graph-18", "every initializer needs a name of its own: export the model again, or rename one of them"},
    {"graph-19", "every value needs a name of its own: export the model again, or rename one of them"},
    {"graph-20", "write them with known operators, or give them as model-local functions; docs/errors.md lists what is "
                 "known"},
    {"graph-22", "export with a newer opset_version, or replace the operator"},
    {"graph-23", kRepairGraph},
    {"graph-24", kRepairGraph},
    {"graph-25", kRepairGraph},
    {"graph-26", "write the node with values that shardc supports, or export with other settings"},
    {"graph-27", kRepairGraph},
    {"graph-28", "give the attribute a value"},
    {"graph-29", "recursion cannot be inlined: write the function without it"},
    {"graph-30", "rename one of them, or give it another overload"},
    {"graph-31", "export without model-local functions that call one another so often"},
    {"tensor-32", kExportAgain},
    {"tensor-33", kExportAgain},
    {"tensor-34", kExportAgain},
    {"tensor-35", kExportAgain},
    {"tensor-36", kExportAgain},
    {"tensor-37", kExportAgain},
    {"tensor-38", "remove the strings: they cannot be trained on"},
    {"tensor-39", "store it as a dense tensor"},
    {"tensor-40", "export the model in float32, with int32, int64 or bool for indices and masks"},
    {"tensor-41", kExportAgain},
    {"tensor-42", kFixShapes},
    {"external-44", "the file must lie in the model's folder, or below --external-data-root"},
    {"external-45", "give the folder that holds the real file as --external-data-root"},
    {"external-46", "put the file beside the model, or give its folder as --external-data-root"},
    {"external-47", "the file is truncated or belongs to another model: copy or export it again"},
    {"external-48", kExportAgain},
    {"external-49", "the file belongs to another model: copy or export it again"},
    {"external-50", "the file is damaged or belongs to another model: copy it again"},
    {"shape-52", "give --dim the name of a dimension of an input, and --shape the name of an input"},
    {"shape-53", "give each dimension one size; the batch comes from --micro-batch and --dp"},
    {"shape-54", kFixShapes},
    {"shape-55", "check the sizes given with --shape and --dim; else the graph is at fault: export the model again"},
    {"shape-56", "check the sizes given with --shape and --dim; else the graph is at fault: export the model again"},
    {"shape-57", kRepairGraph},
    {"shape-59", "sizes and steps begin at 1: check those given with --shape and --dim, or export the model again"},
    {"shape-60", "check the sizes given with --shape and --dim; else the graph is at fault: export the model again"},
    {"shape-61", "check the sizes given with --shape and --dim; else the graph is at fault: export the model again"},
    {"shape-62", "shapes must be known when compiling: export with fixed sizes besides the batch"},
    {"shape-63", "check the sizes given with --shape and --dim: compute with smaller tensors"},
    {"shape-66", "sequences, maps and optionals cannot be trained on: export tensors"},
    {"training-67", "add the loss: --loss cross_entropy for logits, or --loss output:NAME"},
    {"training-68", "name the trainable initializers: --trainable GLOB"},
    {"training-69", kChooseTensors},
    {"training-70", "train only what has a gradient: --freeze GLOB"},
    {"training-71", "freeze it: --freeze GLOB"},
    {"training-72", "labels are int64 or int32 with one class for each row of the logits"},
    {"training-73", "use the first output alone, or --freeze what lies before it"},
    {"training-76", "export the forward graph; optimizer and gradients are shardc's"},
    {"shard-1", "choose a tp that divides what the notes name"},
    {"shard-2", "choose --dp 1"},
    {"shard-3", "choose --dp 1"},
    {"shard-4", "choose another --tp"},
    {"shard-5", "choose another --micro-batch or --dp"},
    {"shard-6", "choose --tp 1"},
    {"stage-count", "choose a smaller --pp"},
    {"kernel-type", "export the model in float32"},
    {"target-gpu", "name sm_80 or newer ones, for example --gpu-arch sm_80,sm_90"},
    {"target-ptxas", "install a ptxas that knows the architecture, or take ptxas off the path: PTX needs none"},
    {"target-cpu", "leave --target-cpu out for this machine's, or name x86-64-v3 or newer"},
    {"target-linker", "install binutils, and set TMPDIR to a folder that may be written"},
};

bool isControl(unsigned char c) { return c < 0x20 || c == 0x7f; }

} // namespace

StringRef shardc::driver::getRemedy(StringRef label) {
  const auto *found = std::find_if(std::begin(kRemedies), std::end(kRemedies),
                                   [&](const Remedy &remedy) { return label == remedy.label; });
  return found == std::end(kRemedies) ? StringRef(kReport) : StringRef(found->text);
}

StringRef shardc::driver::findLabel(StringRef message) {
  if (!message.consume_back("]"))
    return {};
  size_t open = message.rfind('[');
  StringRef label = open == StringRef::npos ? StringRef() : message.drop_front(open + 1);
  bool isLabel = label.contains('-') && llvm::all_of(label, [](char c) { return llvm::isAlnum(c) || c == '-'; });
  return isLabel ? label : StringRef();
}

std::string shardc::driver::makePrintable(StringRef text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.data()) + at;
    size_t length = llvm::getNumBytesForUTF8(*begin);
    bool isLegal = !isControl(*begin) && length <= text.size() - at && llvm::isLegalUTF8Sequence(begin, begin + length);
    // U+0080 … U+009F are control characters too.
    isLegal &= !(*begin == 0xc2 && length == 2 && at + 1 < text.size() && begin[1] < 0xa0);
    if (isLegal) {
      result += text.substr(at, length);
      at += length;
    } else {
      result += "\\x" + llvm::toHex(text.substr(at, 1), /*LowerCase=*/true);
      ++at;
    }
  }
  return result;
}
