"""What is read out of results and recordings, and how it is shown."""

if __name__ != "compactlab.reports":
    raise ImportError("reports/ at the top of a checkout is a link: import compactlab.reports")
