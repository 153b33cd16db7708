"""The command line: parse, call one service method, render."""
