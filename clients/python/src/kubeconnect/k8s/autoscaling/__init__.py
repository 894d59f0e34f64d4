"""The messages of the group autoscaling."""
