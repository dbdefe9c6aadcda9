"""EPUB books: the package's reading order by zipfile, each section by the reader of web pages."""
