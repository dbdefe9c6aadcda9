"""What is known of a GGUF file: header, vocabulary, the demo model."""
