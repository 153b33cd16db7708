"""What fits, how fast and for how much: the answers of `gpubroker size`."""
