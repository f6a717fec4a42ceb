#pragma once
#include <hipport/half.h>
