"""Files in, `Document` out: one reader per format, source trees, the chunker."""
