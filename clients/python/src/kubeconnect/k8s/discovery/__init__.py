"""The messages of the group discovery."""
