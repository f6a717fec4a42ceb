#pragma once
#include <hipport/cute/begin.h>
#include_next <cutlass/array.h>
#include <hipport/cute/end.h>
