"""The messages of the group node."""
