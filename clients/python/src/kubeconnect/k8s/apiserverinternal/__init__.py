"""The messages of the group apiserverinternal."""
