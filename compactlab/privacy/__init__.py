"""Hiding what looks like keys, tokens and mail addresses in anything that is written."""

from compactlab.privacy.redactor import Redactor

__all__ = ["Redactor"]
