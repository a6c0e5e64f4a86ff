"""What a person does with a mouse and a keyboard, in a real Chromium against a served installation."""
