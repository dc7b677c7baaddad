//===-- Passes.cpp - anchors the library --------------------------------------------------------------------------===//

#include "shardc/Pipeline/Passes.h"
