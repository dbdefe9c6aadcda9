"""The screens: chat, the list of conversations, help, and what went wrong."""
