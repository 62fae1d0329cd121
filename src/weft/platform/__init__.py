"""The floor under the tools: what touches the machine, and knows nothing of attention or applications."""
