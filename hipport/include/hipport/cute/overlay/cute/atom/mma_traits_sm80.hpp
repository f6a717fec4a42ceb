// Stands for the mma.sync atoms.
#pragma once
#include <hipport/cute/atom.h>
