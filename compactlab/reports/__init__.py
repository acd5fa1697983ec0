"""Analyses and reports of results and recordings."""

if __name__ != "compactlab.reports":
    raise ImportError("reports/ at the top of a checkout is a link: import compactlab.reports")
