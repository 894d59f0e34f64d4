"""The messages of the group meta."""
