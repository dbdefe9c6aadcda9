"""PDF: pdfium for text, outline and labels; pypdf for forms, notes, odd passwords and a second opinion."""
