"""Everything that knows CUDA: recorded iterations and rounds, kernels, and problems chosen on the device."""
