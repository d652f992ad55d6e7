"""Talks to MCP servers: starts them, keeps their connections for a run, calls their tools, and ends them."""
