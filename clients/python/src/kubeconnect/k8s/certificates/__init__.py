"""The messages of the group certificates."""
