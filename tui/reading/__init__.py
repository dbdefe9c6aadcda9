"""What is done with documents: summarize, ask, ledger, journal."""
