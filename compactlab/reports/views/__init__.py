"""The compaction view: one compaction, before and after, message by message."""

from compactlab.reports.views.choice import Chosen, views
from compactlab.reports.views.view import View, view_of

__all__ = ["Chosen", "View", "view_of", "views"]
