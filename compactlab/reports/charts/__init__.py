"""Charts: drawn by matplotlib, as SVG inside a page or as files."""
