// CUTLASS reads it for the fp8 types, which stay off (see begin.h).
#pragma once
