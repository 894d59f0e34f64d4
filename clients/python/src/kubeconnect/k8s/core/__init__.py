"""The messages of the group core."""
