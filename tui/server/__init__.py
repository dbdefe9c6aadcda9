"""llama-server: find, flags, launch, supervise, diagnose, the HTTP client."""
