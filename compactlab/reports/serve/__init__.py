"""The local page of ``compactlab serve``: a server, its guards, and the work that it starts."""
