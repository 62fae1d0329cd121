"""Benchmarks of what is read from binaries: functions, blocks, tables, what they compute."""
