"""What a model is told when it is asked for a summary.

The wording is our own, about as long as pi's, because it is billed; the sections that are asked
for are pi's.
"""

from __future__ import annotations

_SECTIONS = """\
## Goal
What the user wants to reach; several points if there were several tasks.

## Constraints & Preferences
- What the user demands, forbids or likes; "none" if nothing of the kind was said.

## Progress
### Done
- [x] What is finished

### In Progress
- [ ] What is being worked on

### Blocked
- What keeps the work from going on

## Key Decisions
- **What was decided**: and why, in a few words

## Next Steps
1. What comes next, in order

## Critical Context
- Data, examples and references without which nobody could go on; "none" if there are none

Write no more than is needed. Paths, names of functions and error messages stand exactly as they \
were."""

FIRST = f"""\
Above stands a conversation. Write a checkpoint of it, from which another model can go on with \
the work without having seen a word of the conversation. Use these headings, all of them and in \
this order:

{_SECTIONS}"""

UPDATE = f"""\
Above stand the messages that came after a checkpoint, and the checkpoint itself in \
<previous-summary>. Bring the checkpoint up to date:
- what it holds stays in it
- what the new messages add goes in: progress, decisions, things to know
- what was finished moves from "In Progress" to "Done"
- the next steps follow from what was done
- paths, names of functions and error messages stand exactly as they were
- only what no longer matters may be dropped

Use these headings, all of them and in this order; under each goes what was there before and what \
is new:

{_SECTIONS}"""

PREFIX = """\
Above stands the first part of a turn that is too long to be kept. Its second part, the newest \
work, is kept as it is. Write what one must know of the first part to understand the second:

## Original Request
What the user asked for in this turn

## Early Progress
- What was decided and done in this part

## Context for Suffix
- What the kept part builds on

Be brief: only what makes the kept part understandable."""

# OpenClaw's safeguard asks for the first part of a turn with the same request as for a history,
# and with this at its end.
TURN_PREFIX = (
    "What stands above is only the first part of a turn, whose second part is kept as it is. Keep "
    "to what was asked for, what was done first, and what the second part builds on."
)
MERGE = (
    "What stands above are summaries of parts of one conversation. Make one summary of them. Keep "
    "decisions, what is to be done, open questions, and what must be observed."
)
# What OpenClaw demands beside that since March 2026: five headings, and identifiers as they are.
STRUCTURE = (
    "Use these headings as well, in this order: ## Decisions, ## Open TODOs, ## Constraints/Rules, "
    "## Pending user asks, ## Exact identifiers. Leave none of them out; write that there is "
    "nothing where there is nothing. Under the last one, and wherever else they occur, give ids, "
    "addresses, hashes, paths, dates and numbers exactly as they were, and neither shorten nor "
    "rebuild them."
)
