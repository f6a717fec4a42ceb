#pragma once
#include <hipport/cute/begin.h>
#include_next <cutlass/numeric_conversion.h>
#include <hipport/cute/end.h>
