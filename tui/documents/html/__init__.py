"""Web pages: parsed by selectolax (lexbor), laid out as Markdown-like text by a walker of our own."""
