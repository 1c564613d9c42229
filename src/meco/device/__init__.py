"""Everything that knows CUDA: recorded iterations and rounds, and problems chosen on the device."""
