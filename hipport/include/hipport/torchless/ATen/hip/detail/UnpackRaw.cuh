// See ../HIPGeneratorImpl.h.
#pragma once

#include <ATen/hip/HIPGeneratorImpl.h>
