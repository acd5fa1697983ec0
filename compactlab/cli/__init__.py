"""The command line, one command a file."""

# How a shell says that a command ended by Ctrl-C. Here, where it is read at once.
STOPPED = 130
