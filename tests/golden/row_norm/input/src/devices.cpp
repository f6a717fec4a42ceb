// Copyright 2026 hipport developers
#include "row_norm.cuh"

// Größe der Zeile: Latin-1, CRLF, no newline at the end
int n_devices() {
	int n = 0;
	ROW_NORM_CHECK(cudaGetDeviceCount(&n));
	return n;
}