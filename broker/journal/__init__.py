"""The record of nightly runs: each step with its time, inputs and outcome."""
