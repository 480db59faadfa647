"""What the memory asks of a language model: a protocol, an OpenAI-compatible client, tolerant reading of answers."""
