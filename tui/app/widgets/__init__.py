"""The parts of the screen. Each draws from plain data and can be tested alone."""
