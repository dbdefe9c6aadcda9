"""Source code: where its functions, classes and methods begin, by patterns over text whose strings are masked."""
