"""The messages of the group rbac."""
