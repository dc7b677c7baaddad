//===-- Passes.cpp - anchors the library --------------------------------------------------------------------------===//

#include "shardc/Codegen/Passes.h"
