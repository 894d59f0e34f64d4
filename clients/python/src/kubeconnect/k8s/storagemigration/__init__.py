"""The messages of the group storagemigration."""
