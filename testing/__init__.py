"""Shared test infrastructure: real databases, real servers, and nothing of them left behind."""
