// Copyright 2026 hipport developers
#pragma once
// Nothing of CUDA here: this file must come out byte for byte.
inline int rows(int n) { return n > 0 ? n : 0; }
