"""longscroll: read what is longer than the machine seems able to hold."""

__version__ = "0.1.0"
