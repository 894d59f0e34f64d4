"""The messages of the group coordination."""
