"""Lines of Claude Code's transcripts, as far as they are read."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from compactlab.scenarios.blocks import Given, Tokens


class Written(msgspec.Struct):
    """Cache writes by lifetime of the entry."""

    ephemeral_5m_input_tokens: Tokens | None = None
    ephemeral_1h_input_tokens: Tokens | None = None


class Counts(msgspec.Struct):
    """The usage of a call, as the API reports it."""

    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    cache_read_input_tokens: Tokens | None = None
    cache_creation_input_tokens: Tokens | None = None
    cache_creation: Written | None = None
    speed: str | None = None


class Body(msgspec.Struct):
    """The message of a line."""

    id: str | None = None
    model: str | None = None
    content: Given = msgspec.UNSET
    usage: Counts | None = None


class Kept(msgspec.Struct, rename="camel"):
    """The messages that a compaction left as they were."""

    head_uuid: str | None = None


class Compacted(msgspec.Struct, rename="camel"):
    """What a boundary tells of its compaction."""

    trigger: str | None = None
    pre_tokens: Tokens | None = None
    preserved_segment: Kept | None = None


class Node(msgspec.Struct, rename="camel"):
    """Where a line hangs in the tree."""

    type: str = ""
    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    is_sidechain: bool | None = None
    agent_id: str | None = None


class Line(Node, rename="camel"):
    """A line that is read."""

    subtype: str | None = None
    timestamp: datetime | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    is_api_error_message: bool | None = None
    request_id: str | None = None
    version: str | None = None
    effort: Any = None
    thinking_metadata: Any = None
    origin: Any = None
    compact_metadata: Compacted | None = None
    message: Body | None = None
    attachment: dict[str, Any] | None = None
