#pragma once
#include <hipport/cute/begin.h>
#include_next <cutlass/cutlass.h>
#include <hipport/cute/end.h>
