"""The messages of the group lifecycle."""
