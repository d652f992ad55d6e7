"""What is decided about MCP servers: which a run may use, what their tools are called, what is shown of them."""
