"""The messages of the group networking."""
