"""The messages of the group storage."""
