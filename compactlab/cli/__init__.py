"""The command line, one command a file."""

# The exit code of a shell for a command that Ctrl-C ended. Here, to be imported at once.
STOPPED = 130
