#pragma once
#include <hipport/bf16.h>
