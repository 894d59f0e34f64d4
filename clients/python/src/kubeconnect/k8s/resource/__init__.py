"""The messages of the group resource."""
