"""The messages of the group scheduling."""
