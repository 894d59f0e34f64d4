"""The messages of the group events."""
