"""Static performance of built kernels: occupancy, and a loop model that ranks kernels without running them."""
