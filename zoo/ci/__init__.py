"""The gate on pull requests: what a change touches, whether it may enter the zoo, and what it changes."""
