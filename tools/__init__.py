"""What a checkout is set up and shown with; nothing here runs in production."""
