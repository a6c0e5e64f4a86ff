"""The verbs of a job: keyword-only, typed, atomic. Every door calls these and nothing below them."""
