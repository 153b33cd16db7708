"""gpubroker: from provider prices to a verified purchase plan."""
