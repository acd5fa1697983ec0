"""Pure functions shared by strategies of several systems."""
