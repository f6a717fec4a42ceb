#pragma once
#include <hipport/cute/cuda_names.h>
