"""The messages of the group policy."""
