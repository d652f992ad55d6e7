"""Tell a run whole, for people, programs and tracing: pure, and from its facts alone."""
