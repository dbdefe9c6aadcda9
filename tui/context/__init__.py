"""What goes to the model: the prompt as it is sent, exact counts, the budget, slots kept and restored."""
