#pragma once
#include <hipport/cute/begin.h>
#include_next <cutlass/layout/layout.h>
#include <hipport/cute/end.h>
