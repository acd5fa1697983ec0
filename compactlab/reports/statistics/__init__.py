"""What chance leaves of a difference: intervals, tests and corrections, by conversation."""
