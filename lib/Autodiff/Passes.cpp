//===-- Passes.cpp - anchors the library -----------------------------------------------------------------------===//

#include "shardc/Autodiff/Passes.h"
