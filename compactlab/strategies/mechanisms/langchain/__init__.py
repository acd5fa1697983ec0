"""LangChain: sizes, trimming, and what its middleware hands to a summariser."""
