"""The messages of the group authorization."""
