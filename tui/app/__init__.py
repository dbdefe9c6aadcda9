"""The screen: Textual only."""
