"""The shapes of values in files, which distinguish similar formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

# The required keys of a value, each with a type, an exact value, a nested shape or a test.
Shape = Mapping[str, Any]


def fits(value: Any, shape: Any) -> bool:
    """Whether a value has a shape.

    Examples
    --------
    >>> fits({"role": "user", "at": 3}, {"role": "user", "at": int})
    True
    """
    if isinstance(shape, type):
        return isinstance(value, shape)
    if isinstance(shape, Mapping):
        return isinstance(value, dict) and all(
            key in value and fits(value[key], inner) for key, inner in shape.items()
        )
    if callable(shape):
        return bool(shape(value))
    return bool(value == shape)


def starts(text: str) -> Callable[[Any], bool]:
    """Return a test for text that begins in a certain way."""
    return lambda value: isinstance(value, str) and value.startswith(text)


def of_type(*kinds: str) -> Callable[[Any], bool]:
    """Return a test for a list whose items have one of these types."""
    return lambda value: (
        isinstance(value, list)
        and any(isinstance(item, dict) and item.get("type") in kinds for item in value)
    )


def first_is(own: Callable[[Any], bool]) -> Callable[[list[Any]], bool]:
    """Return a test of a file by its first value, if that is an object."""
    return lambda first: isinstance(first[0], dict) and own(first[0])


def any_is(own: Callable[[Any], bool]) -> Callable[[list[Any]], bool]:
    """Return a test of a file that at least one object of its first values must pass."""
    return lambda first: any(isinstance(value, dict) and own(value) for value in first)


def dict_of(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


# Trajectories and sessions with a provider's messages that are not plain chats.

_SNAPSHOT: Shape = {"session_id": str, "platform": object, "messages": list}
_EXPORT: Shape = {"id": str, "source": str, "started_at": object, "messages": list}
_MINI: Shape = {"trajectory_format": starts("mini-swe-agent"), "messages": list}
_OLD_MINI: Shape = {"info": {"mini_version": str}, "messages": list}
_AMP: Shape = {"id": starts("T-"), "messages": list, "created": int}
_CLINE_SESSION: Shape = {"version": int, "sessionId": str, "agent": str}
_ROO: Shape = {"version": 2, "messages": list}
_TASK = ("<task>", "<user_message>")  # the beginnings of a task of Cline and its forks


def is_session(value: Any) -> bool:
    """Whether a value is a session of Hermes Agent: a snapshot or an export."""
    return fits(value, _SNAPSHOT) or fits(value, _EXPORT)


def is_task(value: Any) -> bool:
    """Whether a value is a trajectory of tau-bench."""
    return fits(value, {"task_id": object, "traj": list})


def is_by_agents(value: Any) -> bool:
    """Whether a value is a trajectory of SWE-agent: its messages name their agent."""
    history = list_of(dict_of(value).get("history"))
    return any(isinstance(m, dict) and "role" in m and "agent" in m for m in history)


def is_mini(value: Any) -> bool:
    """Whether a value is a trajectory of mini-swe-agent."""
    return fits(value, _MINI) or fits(value, _OLD_MINI)


def is_amp(value: Any) -> bool:
    """Whether a value is a thread of Amp."""
    return fits(value, _AMP)


def is_cline_session(value: Any) -> bool:
    """Whether a value is a session of Cline's SDK, written by its CLI and newer extensions."""
    if not fits(value, {"messages": list}):
        return False
    return sum(fits(value, {key: kind}) for key, kind in _CLINE_SESSION.items()) > 1


def is_task_history(value: Any) -> bool:
    """Whether a value is the history of Cline, Roo or Kilo: ``api_conversation_history.json``."""
    if fits(value, _ROO):
        return any(isinstance(each, dict) and "ts" in each for each in value["messages"])
    if not isinstance(value, list) or not value or not fits(value[0], {"role": str}):
        return False
    told = [each for each in value if fits(each, {"role": str, "content": object})]
    stamped = any({"modelInfo", "ts"} & each.keys() for each in told)
    if not told or stamped:
        return bool(told)
    content = told[0]["content"]
    blocks = content if isinstance(content, list) else [{"text": content}]
    texts = (str(block.get("text")) for block in blocks if isinstance(block, dict))
    return "\n".join(texts).startswith(_TASK)


_LABELLED = (is_task, is_by_agents, is_session, is_mini, is_amp, is_cline_session, is_task_history)


def is_labelled(value: Any) -> bool:
    """Whether a value is a trajectory or a session of any of these clients."""
    return any(is_one(value) for is_one in _LABELLED)


def is_task_screen(value: Any) -> bool:
    """Whether a value is the display log of Cline, Roo or Kilo: ``ui_messages.json``."""
    shown: Shape = {"ts": int, "type": lambda kind: kind in ("say", "ask")}
    return isinstance(value, list) and bool(value) and fits(value[0], shown)


def text_of(message: dict[str, Any]) -> str:
    """Return the text of a message of any provider."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"text": content}]
    texts = (block.get("text") for block in blocks if isinstance(block, dict))
    return "\n".join(text for text in texts if isinstance(text, str))
