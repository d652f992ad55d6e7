"""Keep the journal, its views and its blobs in SQLite or PostgreSQL."""
