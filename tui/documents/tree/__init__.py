"""Source trees: which files count (as git would say), which are left out and named, and how they become one text."""
