"""The user's own measurements: files of benchmarks in, points of deployments out and kept."""
