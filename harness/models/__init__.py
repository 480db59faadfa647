"""Chat models: an OpenAI-compatible server, a cassette of one, and scripts that need neither."""
