"""The messages of the group authentication."""
