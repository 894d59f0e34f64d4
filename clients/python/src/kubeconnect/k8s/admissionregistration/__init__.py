"""The messages of the group admissionregistration."""
