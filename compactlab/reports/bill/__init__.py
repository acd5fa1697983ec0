"""What a log says was spent: added up, shown as tables, with the caveats under them."""
