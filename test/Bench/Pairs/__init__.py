"""Tables of operators whose pairs are timed by pairs.py: a kind of value each."""
