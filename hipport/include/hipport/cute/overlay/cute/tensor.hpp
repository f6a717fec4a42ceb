#pragma once
#include <hipport/cute/begin.h>
#include_next <cute/tensor.hpp>
#include <hipport/cute/end.h>
