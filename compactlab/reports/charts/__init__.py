"""Charts: drawn by matplotlib, as SVG that stands in a page and as files."""
