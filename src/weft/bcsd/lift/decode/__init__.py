"""From bytes to p-code with its flow of control: processors → registers → translate → units → flow."""
