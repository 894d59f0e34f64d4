"""The messages of the group apps."""
