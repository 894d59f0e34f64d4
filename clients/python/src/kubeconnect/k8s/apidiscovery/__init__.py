"""The messages of the group apidiscovery."""
