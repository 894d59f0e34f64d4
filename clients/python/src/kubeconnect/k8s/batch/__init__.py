"""The messages of the group batch."""
