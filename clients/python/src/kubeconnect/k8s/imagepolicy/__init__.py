"""The messages of the group imagepolicy."""
