"""What strategies share, and the rules of the systems that they follow: pure functions.

A folder holds the rules of one system; what stands beside the folders serves several, or is the
one rule of a system. A strategy's own file says which of them it uses.
"""
