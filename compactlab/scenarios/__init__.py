"""Conversations: synthetic ones by name, and the readers of transcripts."""

if __name__ != "compactlab.scenarios":
    raise ImportError("scenarios/ at the top of a checkout is a link: import compactlab.scenarios")
