"""The messages of the group flowcontrol."""
