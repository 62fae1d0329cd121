"""The model of a function: instructions and control-flow graph in, one embedding out."""
